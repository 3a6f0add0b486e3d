/** How a text of any length is built: `unit` repeated between `before` and `after`. */
interface Shape {
  readonly before?: string
  readonly unit: string
  readonly after?: string
}

/** Texts that take readers of some format a long time: openers, nesting, long lines, many names, near misses. */
export const shapes: Readonly<Record<string, Shape>> = {
  letters: { unit: 'a' },
  'letters and another one': { unit: 'a', after: 'b' },
  blanks: { before: 'x', unit: ' ', after: 'x' },
  'line breaks': { before: 'x', unit: '\n', after: 'x' },
  'carriage returns': { before: 'x', unit: '\r', after: 'x' },
  'blank lines': { before: 'x', unit: ' \n', after: 'x' },
  'short lines': { unit: 'a\n' },
  digits: { unit: '9' },
  dots: { unit: '1.' },
  slashes: { unit: 'a/' },
  'ways up': { unit: '../' },
  ampersands: { unit: '&' },
  entities: { unit: '&lt;' },
  'elements in a wrong order': { unit: '<b><p>' },
  'elements in elements': { unit: '<div>' },
  'tables in tables': { unit: '<table><tr><td>' },
  'tags without an end': { unit: '<a ' },
  'tags of one name': { unit: '<A>' },
  'tags with attributes': { before: '<A', unit: ' b="c"', after: '>' },
  'attributes without an end': { unit: '<A b="' },
  comments: { unit: '<!--' },
  quotes: { unit: '"' },
  'single quotes': { unit: "'" },
  'quoted cells': { unit: '"a""b",' },
  cells: { unit: 'a,' },
  brackets: { unit: '[' },
  'closed brackets': { unit: '[]' },
  braces: { unit: '{' },
  'double braces': { unit: '{{' },
  expressions: { unit: '{{a}}' },
  'blocks of templates': { unit: '{{#a}}' },
  parentheses: { unit: '(' },
  alternatives: { before: '{', unit: 'a,', after: 'b}' },
  'alternatives in alternatives': { unit: '{a,{b,' },
  stars: { unit: '*' },
  'stars and letters': { unit: '*a' },
  'double stars': { unit: '**/' },
  fences: { unit: '```\n' },
  'fences with a language': { unit: '```lua\n' },
  'longer fences': { unit: '````\n```\n' },
  'a fence and blanks': { before: '~~~', unit: ' ', after: '`' },
  'a fence of tildes': { unit: '~', after: '`' },
  headings: { unit: '# a\n' },
  links: { unit: '[a](' },
  'links in links': { unit: '[[a](b' },
  images: { unit: '![a](b)' },
  keys: { unit: 'a: b\n' },
  'keys in keys': { unit: 'a: {' },
  lists: { unit: '- ' },
  anchors: { before: 'a: &a [x]\n', unit: 'b: *a\n' },
  tables: { unit: '[a]\n' },
  'dotted keys': { before: 'a', unit: '.a', after: ' = 1' },
  strings: { unit: 'a = """\n' },
  objects: { unit: '{"a":' },
  numbers: { before: '[', unit: '1,', after: '1]' },
  documents: { unit: '---\n' },
  markers: { unit: '<<START>>\n' },
  'markers with an end': { unit: '<<START>>\n<<END>>\n' },
  'rust comments': { unit: '/*' },
  'rust strings': { unit: 'r#"' },
  'rust functions': { unit: 'fn a() {' },
  'parts of an address': { before: 'https://a/', unit: '%2e', after: '?' },
  'options of an address': { before: 'https://a/?', unit: 'a=b&' },
  backslashes: { unit: '\\' },
  'wide letters': { unit: '😀' },
  'a byte of nothing': { unit: '\0' },
}

export function textOf({ before = '', unit, after = '' }: Shape, length: number): string {
  return before + unit.repeat(Math.ceil(length / unit.length)) + after
}

/** Calls with the text as `t`, in Lua. `...` are all names of functions that take only the text. */
function each(module: string, names: string, args = 't'): readonly string[] {
  return names.split(' ').map((name) => `aip.${module}.${name}(${args})`)
}

/** Every function of `aip` whose result depends only on its arguments and that could take a long time. */
export const calls: readonly string[] = [
  ...each(
    'text',
    'trim trim_start trim_end remove_first_line remove_last_line ensure_single_trailing_newline escape_decode escape_decode_if_needed',
  ),
  ...each('text', 'remove_first_lines remove_last_lines', 't, 1000'),
  'aip.text.truncate(t, 10, "…")',
  ...each('text', 'split_first split_last split_first_line split_last_line', 't, t:sub(-#t // 2) .. "b"'),
  ...each('text', 'split_first split_last split_first_line split_last_line', 't, "b" .. t:sub(1, #t // 2)'),
  'aip.text.replace_markers(t, { "a", "b" })',
  'aip.text.ensure(t, { prefix = t, suffix = t .. "x" })',
  'aip.text.extract_line_blocks(t, { starts_with = "a", extrude = "content" })',
  'aip.text.extract_line_blocks(t, { starts_with = t })',
  ...each('html', 'slim to_md'),
  'aip.html.select(t, "b p, a[b], div > div")',
  'aip.html.select("<p>a</p>", t)',
  ...each('yaml', 'parse stringify'),
  'aip.yaml.stringify_multi_docs({ t, t })',
  'aip.toml.parse(t)',
  'aip.toml.stringify({ [t:sub(1, 100000)] = t })',
  ...each('json', 'parse parse_ndjson stringify stringify_pretty'),
  ...each('csv', 'parse parse_row'),
  'aip.csv.values_to_row({ t, t })',
  ...each('md', 'extract_blocks extract_meta extract_refs outer_block_content_or_raw'),
  'aip.md.extract_blocks(t, { lang = "lua", extrude = "content" })',
  'aip.hbs.render(t, { a = { 1, 2, 3 } })',
  'aip.hbs.render("{{#each a}}{{this}}{{/each}}", { a = { t, t } })',
  'aip.tag.extract(t, { "A", "b" }, { extrude = "content" })',
  'aip.tag.extract(t, t)',
  'aip.tag.extract_as_multi_map(t, "A")',
  ...each('hash', 'sha256 sha512_b64 blake3 sha256_b58'),
  ...each('semver', 'parse valid is_prerelease'),
  'aip.semver.compare(t, ">", "1.0.0-" .. t)',
  ...each('path', 'parse split parent'),
  'aip.path.join(t, t)',
  'aip.path.diff(t, "a/" .. t)',
  'aip.path.matches_glob(t, "**/*a*b*/**")',
  'aip.path.matches_glob("a/b/c", t)',
  'aip.path.matches_glob(t, t:sub(1, 8000))',
  'aip.path.sort_by_globs({ t, "a" }, { "**/*a", "*" })',
  'aip.code.comment_line("lua", t)',
  'aip.rust.prune_to_declarations(t)',
  'aip.uuid.to_time_epoch_ms(t)',
  'aip.web.parse_url(t)',
  'aip.web.resolve_href(t, "https://a/b")',
  'aip.lua.dump({ t })',
  'aip.agent.extract_options({ model = t })',
  `aip.udiffx.apply_file_changes("<FILE_CHANGES>\\n<FILE_PATCH file_path=\\"out.txt\\">\\n" .. t .. "\\n</FILE_PATCH>\\n</FILE_CHANGES>")`,
  'aip.udiffx.apply_file_changes(t)',
  'aip.file.save_changes("out.txt", "<<<<<<< SEARCH\\n" .. t .. "\\n=======\\nx\\n>>>>>>> REPLACE\\n")',
]

/** A script that makes the call once for each file in its input, and prints the milliseconds. */
export function timing(call: string): string {
  return `for line in input:gmatch("[^,]+") do
  local t = aip.file.load(line).content
  local began = aip.time.now_utc_micro()
  pcall(function() return ${call} end)
  print(line .. " " .. string.format("%d", (aip.time.now_utc_micro() - began) // 1000))
end
`
}

/** A script that prints `begun` and then makes the call endlessly. */
export function looping(call: string): string {
  return `local t = aip.file.load("t.txt").content\nprint("begun")\nwhile true do pcall(function() return ${call} end) end\n`
}
