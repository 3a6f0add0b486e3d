import { testSnippets } from './snippets.ts'

// the results of AIPack for the same code
testSnippets('JSON', [
  [`return aip.json.parse('["a\\nb", \\'c\\r\\td\\']')`, ['a\nb', 'c\r\td']],
  [String.raw`return aip.json.parse('["\\x41"]')`, /unknown escape/],
  [`return aip.json.parse_ndjson('["a\\nb"]')`, /line 1 is not JSON/],
  ['return aip.json.parse(12)', 12],
  ['return aip.json.parse(1.5)', 1.5],
  ['return aip.json.parse_ndjson(1)', [1]],
  [`return aip.json.stringify(aip.json.parse('{"__proto__": {"a": 1}}'))`, '{"__proto__":{"a":1}}'],
])

testSnippets(
  'YAML',
  [
    ['return aip.yaml.parse(5)', [5]],
    ['return aip.yaml.parse("---")', []],
    ['return aip.yaml.parse("---\\n---\\n")', []],
    ['return aip.yaml.parse("a: 1\\n---\\n")', [{ a: 1 }]],
    ['local docs = aip.yaml.parse("---\\n---\\na: 1") return {docs[1] == nil, docs[2].a}', [true, 1]],
    ['return aip.yaml.parse("a: null")[1].a == null', true],
    ['return aip.json.stringify(aip.yaml.parse("__proto__: 1"))', '[{"__proto__":1}]'],
    ['return aip.file.load_yaml("nulls.yaml")', [{ a: 1 }]],
  ],
  { files: { 'nulls.yaml': 'a: 1\n---\n~\n' } },
)

testSnippets(
  'TOML',
  [
    [
      'return aip.toml.parse("d = 1979-05-27T07:32:00Z\\ne = 1979-05-27\\nf = 07:32\\ng = 1979-05-27T07:32:00.5-07:00")',
      { d: '1979-05-27T07:32:00Z', e: '1979-05-27', f: '07:32', g: '1979-05-27T07:32:00.5-07:00' },
    ],
    [
      'return aip.toml.parse("a = [[07:32:00.123456789]]\\n[[t]]\\n[[t]]\\nx.y = {z = 1979-05-27 07:32:00} # c").t[2].x.y.z',
      '1979-05-27 07:32:00',
    ],
    ['return aip.toml.parse("a = [1, [07:32:00.123456789]]").a[2][1]', '07:32:00.123456789'],
    ['return aip.file.load_toml("date.toml")', { t: '07:32:00' }],
    [
      'local t = aip.toml.parse("__proto__ = 1\\nconstructor = 2") return {rawget(t, "__proto__"), t.constructor}',
      [1, 2],
    ],
  ],
  { files: { 'date.toml': 't = 07:32:00' } },
)

testSnippets('CSV', [
  [`return aip.csv.parse_row('"a""b",c', {escape = "\\\\"})`, ['a"b', 'c']],
  [`return aip.csv.parse_row('"a\\\\"b","""c"",",""', {escape = "\\\\"})`, ['a"b', '"c",', '']],
  [`return aip.csv.parse_row('a,  "b""c"', {escape = "\\\\", trim_fields = true})`, ['a', 'b"c']],
  [`return aip.csv.parse("x\\n'a''b'", {escape = "\\\\", quote = "'"}).rows`, [["a'b"]]],
  [
    'return aip.csv.values_to_row({1e15, 1e21, 1.5e-7, -0.25})',
    '1000000000000000,1000000000000000000000,0.00000015,-0.25',
  ],
])

testSnippets('numbers', [
  ['return aip.lua.dump(1e15)', '1000000000000000'],
  ['return aip.lua.dump(-1e16)', '-10000000000000000'],
  ['return aip.lua.dump(1e23)', `1${'0'.repeat(23)}`],
  ['return aip.lua.dump(1e-7)', '0.0000001'],
  ['return aip.lua.dump(1.5e-10)', '0.00000000015'],
  [
    'return aip.lua.dump({0.1, 2.0, 123456.789, 1/3})',
    '{\n  1 = 0.1,\n  2 = 2,\n  3 = 123456.789,\n  4 = 0.3333333333333333\n}',
  ],
  ['return {aip.lua.dump(1/0), aip.lua.dump(-1/0), aip.lua.dump(0/0)}', ['inf', '-inf', 'NaN']],
  ['return math.type(os.difftime(10, 4)) .. " " .. os.difftime(10, 4)', 'float 6.0'],
])

testSnippets('versions', [
  ['local major = aip.semver.parse("9007199254740993.0.0").major return major > 9.007e15 and major < 9.008e15', true],
  ['return aip.semver.valid("18446744073709551615.0.0")', true],
  ['return aip.semver.valid("18446744073709551616.0.0")', false],
  ['return aip.semver.compare("9007199254740993.0.0", ">", "9007199254740992.0.0")', true],
  ['return aip.semver.compare("1.0.0-rc.1", "<", "1.0.0")', true],
  ['return aip.semver.compare("1.0.0-2", "<", "1.0.0-10")', true],
  ['return aip.semver.compare("1.0.0-99999999999999999999", "<", "1.0.0-a")', true],
])

testSnippets('entities of HTML', [
  ['return aip.text.escape_decode("&LT;&GT;&AMP;&QUOT;&Lt;&COPY;")', '<>&"≪©'],
  [
    'return aip.text.escape_decode("&eacute;&hellip;&notit;&not;&lang;&CounterClockwiseContourIntegral;")',
    'é…&notit;¬⟨∳',
  ],
  ['return (("a&lt;b c"):gsub("%S+", aip.text.escape_decode))', 'a<b c'],
  ['return aip.text.escape_decode("&#38;amp; &amp;lt; &lt &#0; &#xD800; &x&lt;")', '&amp; &lt; &lt &#0; &#xD800; &x<'],
])

const files = {
  'crlf.txt': 'one\r\ntwo',
  'empty.txt': '',
  's.md': 'intro\n\n# One\n\none\n\n## Two\n\ntwo\n',
  'lua/m.lua': 'return 1, 2',
  'lua/n.lua': 'return 1',
}
testSnippets(
  'text, modules and the rest',
  [
    ['return {aip.md.extract_meta("```yaml\\n#!meta\\n- 1\\n- 2\\n```")}', [{}, '']],
    ['return {aip.md.extract_meta("```yaml\\n#!meta\\na: 1\\n---\\nb: 2\\n---\\n7\\n```")}', [{ a: 1, b: 2 }, '']],
    ['return {aip.md.extract_meta("```json\\n#!meta\\n[1]\\n```")}', [{}, '']],
    ['return aip.md.extract_meta("a\\n```yaml\\n#!meta\\na: 1\\n---\\nb: [\\n```")', /line 6 of the text/],
    [
      'return aip.udiffx.load_files_context({"crlf.txt", "empty.txt"})',
      '<FILE_CONTENT path="crlf.txt">\none\r\ntwo\n</FILE_CONTENT>\n\n<FILE_CONTENT path="empty.txt">\n\n</FILE_CONTENT>\n',
    ],
    ['return #aip.file.load_md_sections("s.md", {})', 3],
    ['return #aip.file.load_md_sections("s.md", {"# One"})', 1],
    ['local a, b = require("m") return {a, type(b)}', [1, 'string']],
    ['local _, first = require("n") return {first, select("#", require("n"))}', ['lua/n.lua', 1]],
    [
      'local list = table.pack(value_or(nil, 1), value_or(null, 2), value_or(false, 3), value_or(nil, null) == null, value_or(nil), value_or()) return {list[1], list[2], list[3], list[4], list[5] == nil, list.n}',
      [1, 2, false, true, true, 6],
    ],
    [
      'local names = {} for ext in ("bat pl pem rs RS md weird dat msi o pyc png PNG"):gmatch("%S+") do if not aip.path.parse("x." .. ext).is_likely_text then names[#names + 1] = ext end end return names',
      ['dat', 'msi', 'o', 'pyc', 'png', 'PNG'],
    ],
    ['local url = aip.web.parse_url("http://x.y/#") return {url.fragment, url.url}', ['', 'http://x.y/#']],
    ['return aip.web.parse_url("http://x.y/").fragment == nil', true],
  ],
  { files },
)
