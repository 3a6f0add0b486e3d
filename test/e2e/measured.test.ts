import { readFileSync, symlinkSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { docxFile, paragraph, row, run } from '../helpers/docx.ts'
import { rawZip } from '../helpers/raw-zip.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'

/** AIPack's result for a snippet and, if ours differs, our result with the row of docs/compat.md that says so. */
interface Measured {
  readonly kind: string
  readonly code: string
  /** Omitted if only the bug is known that we do not reproduce. */
  readonly given?: string
  readonly here?: string
  readonly row?: string
}

const measured = readMeasured(readFileSync(join(root, 'test/compat/measured.txt'), 'utf8'))
/** The end of long results, of which only the start was kept. */
const cut = ' …'
const compatRows = readFileSync(join(root, 'docs/compat.md'), 'utf8').split('\n')

function readMeasured(text: string): readonly Measured[] {
  return text
    .split(/^# /m)
    .slice(1)
    .flatMap((part) => {
      const [kind = '', ...cases] = part
        .trim()
        .replaceAll(/ +$/gm, '')
        .split(/\n\n(?=code )/)
      return cases.map((lines) => {
        const fields = lines
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)])
        return { kind, ...(Object.fromEntries(fields) as Omit<Measured, 'kind'>) }
      })
    })
}

const page = `<!DOCTYPE html><html><head><title>T &amp; x</title><meta name="d" content="e"><link rel="x" href="y"><style>p{}</style><script>1</script></head><body class="c" id="i" style="x" data-z="1" onclick="f()"><!-- c --><header>H</header><nav>n</nav><h1>Head</h1><p>One <b>bold</b> <i>it</i> <a href="/x?y=1&amp;z=2" title="t" target="_blank">link</a></p><ul><li>a<li>b</ul><ol><li>1</li></ol><pre><code>x\n  y</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><img src="a.png" alt="al"><br><hr><div><div></div><span>s</span></div><svg><path/></svg><iframe src="f"></iframe><noscript>no</noscript><footer>F</footer></body></html>`

/** Values in the table's notation: keys in order, `f:` before whole floats, `number` for times. */
const show = String.raw`
local function quoted(s)
  return '"' .. s:gsub('[\\"]', '\\%0'):gsub('\n', '\\n'):gsub('\r', '\\r'):gsub('\t', '\\t') .. '"'
end
local function J(v)
  if v == nil then return 'nil' end
  if v == null then return 'null' end
  if type(v) == 'string' then return quoted(v) end
  if math.type(v) == 'float' then return 'f:' .. (v % 1 == 0 and math.abs(v) < 1e15 and ('%d'):format(v // 1 | 0) or tostring(v)) end
  if type(v) ~= 'table' then return tostring(v) end
  local parts, keys = {}, {}
  for i = 1, #v do parts[i] = J(v[i]) end
  for k in next, v do if math.type(k) ~= 'integer' or k < 1 or k > #v then keys[#keys + 1] = k end end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do
    local name = type(k) == 'string' and k:match('^[%a_][%w_]*$') or '[' .. J(k) .. ']'
    parts[#parts + 1] = name .. '=' .. ((k == 'mtime' or k == 'ctime') and type(v[k]) or J(v[k]))
  end
  return '{' .. table.concat(parts, ', ') .. '}'
end
`

const helpers = String.raw`
local function P(globs, opts) local ok, r = pcall(aip.file.list, globs, opts) if not ok then error(r, 0) end local o = {} for i, f in ipairs(r) do o[i] = f.path end return o end
local function rd(p) local ok, r = pcall(aip.file.load, p) return ok and r.content or "NOFILE" end
local function A(s, base, opts)
  local st, rest = aip.udiffx.apply_file_changes(s, base, opts)
  local items = {}
  for i, it in ipairs(st.items) do items[i] = {it.kind, it.file_path, it.success, it.error_msg ~= nil, it.error_hunks and #it.error_hunks} end
  return {st.success, st.total_count, st.success_count, st.fail_count}, items, rest
end
local function W(s) return "[[[UDIFFX_FILE_CHANGES]]]\n" .. s .. "\n[[[/UDIFFX_FILE_CHANGES]]]" end
local function patch(file, orig, hunks) aip.file.save(file, orig) local c, it = A(W('[[[FILE_PATCH file_path="' .. file .. '"]]]\n' .. hunks .. '\n[[[/FILE_PATCH]]]')) return c, it, rd(file) end
local results = {}
local function run(work)
  local r = table.pack(pcall(work))
  local parts = {}
  for i = 2, r.n do parts[i - 1] = J(r[i]) end
  results[#results + 1] = r[1] and 'ok: ' .. table.concat(parts, ' | ') or 'err ' .. tostring(r[2])
end
`

/** A Word document that starts like the measured one, with a link and a table. */
function document(): Buffer {
  const body = [
    paragraph(run('The Title'), 0),
    paragraph(run('Head One'), 1),
    paragraph(
      run('Plain ') +
        run('bold ', '<w:b/>') +
        run(' and ') +
        run('italic', '<w:i/>') +
        run(' ') +
        run('both', '<w:b/><w:i/>') +
        run(' ') +
        run('strike', '<w:strike/>') +
        run(' ') +
        run('under', '<w:u w:val="single"/>') +
        run(' '),
    ),
    paragraph(`<w:hyperlink r:id="r2">${run('a link')}</w:hyperlink>`),
    `<w:tbl>${row('a', 'b')}${row('1', '2|3')}</w:tbl>`,
    paragraph(run('after &amp; &lt;tag&gt;')),
  ]
  return docxFile(body.join(''), { styles: ['Title', 'heading 1'], link: 'https://example.com/a' })
}

const files = {
  '.aipack/config.toml': '',
  'a.txt': 'x\n',
  'crlf.txt': 'one\r\ntwo\r\nthree\n',
  'empty.txt': '',
  'docs/readme.md': '# Read me\n\ntext\n',
  'docs/x.bin': 'x',
  'page.html': page,
  's.md': 'intro\n\n# One\n\ntext one\n\n## Two\n\ntext two\n\n```md\n# not a heading\n```\n',
  'empty.md': '# A\n\n# B\r\n\r\nb\r\n\n# C\n\nc\n',
  'date.toml': 'd = 1979-05-27T07:32:00Z\nl = 1979-05-27\nt = 07:32:00\n',
  'full.docx': document(),
  'no.docx': rawZip([{ name: 'a' }]),
  'beside.lua': 'return 1',
  'sub.aip': '# Output\n\n```lua\nreturn "sub " .. tostring(input)\n```\n',
  'lua/runs.lua': 'return aip.agent.run("sub.aip", { input = "m" }).outputs[1]',
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { accept, 'user-agent': agent, 'content-type': type } = request.headers
    response.setHeader('content-type', 'application/json')
    const body = Buffer.concat(chunks).toString()
    response.end(JSON.stringify({ body, headers: { accept, 'user-agent': agent, 'content-type': type } }))
  })
}

describe.each(['lua54', 'fengari'])('behaves like AIPack was measured, on %s', (engine) => {
  const state: { server?: Server; results: readonly string[] } = { results: [] }

  beforeAll(async () => {
    const server = createServer(answer)
    state.server = server
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const host = `127.0.0.1:${port}`
    const folder = tempTree()
    const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
    const calls = measured.map(({ code }) => `run(function() ${code.replaceAll('__WS__', workspace)}\nend)\n`).join('')
    const constants = `local U = "http://${host}"\nlocal PAGE = [==[${page}]==]\n`
    const lua = `${show}${helpers}${constants}${calls}for _, text in ipairs(results) do print("@@" .. aip.json.stringify(text)) end`
    writeTree(workspace, { ...files, 'main.aip': `# Data\n\n\`\`\`\`lua\n${lua}\n\`\`\`\`\n` })
    writeTree(home, { 'notes/n.md': 'note' })
    symlinkSync('docs/readme.md', join(workspace, 'link.md'))
    const { stdout, stderr, code } = await baton(['run', 'main.aip', '-c', `lua.engine=${engine}`], {
      cwd: workspace,
      env: { HOME: home },
    })
    expect(code, stderr).toBe(0)
    const names = [
      [workspace, '<WS>'],
      [home, '<HOME>'],
      [dirname(workspace), '<SIDE>'],
      [host, '<HOST>'],
    ] as const
    state.results = stdout
      .split('\n')
      .filter((line) => line.startsWith('@@'))
      .map((line) =>
        names.reduce((text, [path, name]) => text.replaceAll(path, name), JSON.parse(line.slice(2)) as string),
      )
    expect(state.results).toHaveLength(measured.length)
  })

  afterAll(() => state.server?.close())

  it.each(measured.map((one, index) => ({ ...one, index })))('$kind: $code', ({ given, here, row, index }) => {
    const result = state.results[index] ?? ''
    const expected = here ?? given ?? ''
    const shown = engine === 'fengari' ? expected.replace('9007199254740993', 'f:9.007199254741e+15') : expected
    if (shown === 'err') expect(result).toMatch(/^err /)
    else if (shown.endsWith(cut)) expect(result.startsWith(shown.slice(0, -cut.length)), result).toBe(true)
    else expect(result.trimEnd()).toBe(shown)
    // every difference is documented, and every documented difference exists
    const hasRow = compatRows.some((line) => line.startsWith(`| ${row ?? ''}`) || line.includes(`| ${row ?? ''}`))
    expect({ differs: here !== undefined, hasRow: row !== undefined && hasRow }).toEqual({
      differs: row !== undefined,
      hasRow: row !== undefined,
    })
    if (given !== undefined && here !== undefined) expect(here).not.toBe(given)
  })
})

const lua = (heading: string, ...code: readonly string[]): string =>
  `# ${heading}\n\n\`\`\`lua\n${code.join('\n')}\n\`\`\`\n\n`
const sub = lua('Data', 'local r = aip.agent.run("sub") print("@@r " .. J(r))')

interface MeasuredRun {
  readonly kind: string
  readonly agent: string
  readonly files?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly reply?: ModelReply
  /** AIPack's output. */
  readonly prints: readonly string[]
}

const runs: readonly MeasuredRun[] = [
  {
    kind: 'ai_response.content is trimmed',
    agent: `# User\n\nx\n\n${lua('Output', 'print("@@ai " .. J(ai_response.content))')}`,
    reply: { text: ' é日😀\r\nx \n', chunks: [' é日😀\r\n', 'x \n'] },
    prints: [String.raw`@@ai "é日😀\r\nx"`],
  },
  {
    kind: '<think> is taken out of content',
    agent: `# User\n\nx\n\n${lua('Output', 'print("@@ai " .. J(ai_response.content))print("@@r " .. J(ai_response.reasoning_content))')}`,
    reply: { text: '<think>hm</think>\n\nanswer' },
    prints: ['@@ai "answer"', '@@r "hm"'],
  },
  {
    kind: 'After All: inputs of a run without any',
    agent: lua('Data', 'return 1') + lua('After All', 'print("@@inputs " .. J(inputs))'),
    prints: ['@@inputs {null}'],
  },
  {
    kind: 'outputs where there are none',
    agent: sub,
    files: { 'sub.aip': 'text only' },
    prints: ['@@r {redo_requested=false}'],
  },
  {
    kind: 'outputs where there are none',
    agent: sub,
    files: { 'sub.aip': lua('Before All', 'return 5') },
    prints: ['@@r {redo_requested=false}'],
  },
  {
    kind: 'outputs where there are none',
    agent: sub,
    files: { 'sub.aip': lua('Output', 'return 1') + lua('After All', 'return aip.flow.redo_run()') },
    prints: ['@@r {after_all={_aipack_={kind="Redo"}}, outputs={1}, redo_requested=true}'],
  },
  {
    kind: 'outputs where there are none',
    agent: sub,
    files: { 'sub.aip': lua('Before All', 'return aip.flow.redo_run()') + lua('Output', 'return 1') },
    prints: ['@@r {redo_requested=true}'],
  },
  {
    kind: '_display of files as inputs',
    agent: lua('Before All', 'print("@@" .. tostring(inputs[1]._display))') + lua('Data', 'print("@@" .. J(input))'),
    files: { 'a.txt': 'x' },
    args: ['-f', 'a.txt'],
    prints: [
      '@@nil',
      '@@{_display="a.txt", _type="FileInfo", ctime=number, dir="", ext="txt", is_likely_text=true, mtime=number, name="a.txt", path="a.txt", size=1, stem="a"}',
    ],
  },
  {
    kind: '_display of files as inputs',
    agent: lua('Data', 'local r = aip.agent.run("sub", {inputs = {aip.file.info("sub.aip")}}) print("@@r " .. J(r))'),
    files: { 'sub.aip': lua('Output', 'return {input._type, input._display, input.path}') },
    prints: ['@@r {outputs={{"FileInfo", "sub.aip", "sub.aip"}}, redo_requested=false}'],
  },
  {
    kind: '_display of files as inputs',
    agent: `# Options\n\n\`\`\`toml\ninput_concurrency = 1\n\`\`\`\n\n${lua(
      'Before All',
      'return aip.flow.before_all_response({inputs = {aip.file.info("a.txt"), aip.file.load("a.txt")}})',
    )}${lua('Data', 'print("@@" .. tostring(input._display) .. " " .. input._type .. " " .. input.path)')}`,
    files: { 'a.txt': 'x' },
    prints: ['@@a.txt FileInfo a.txt', '@@a.txt FileRecord a.txt'],
  },
  {
    kind: 'data_response({input = null})',
    agent:
      lua('Data', 'return aip.flow.data_response({input = null, data = null})') +
      lua('Output', 'print("@@i " .. J(input))print("@@d " .. J(data))'),
    args: ['-i', 'a'],
    prints: ['@@i nil', '@@d nil'],
  },
  {
    kind: 'number of results of require',
    agent: lua('Data', 'local a, b = require("m") print("@@a " .. J(a))print("@@" .. type(b))'),
    files: { 'lua/m.lua': 'return 1, 2' },
    prints: ['@@a 1', '@@string'],
  },
  {
    kind: 'a line break at the end of print',
    agent: lua('Data', 'print("@@a\\n") print("@@b")'),
    prints: ['@@a', '', '@@b'],
  },
  {
    kind: 'rightly not copied: a file as attachment is sent as text; -f leaves out node_modules unless it names it',
    agent: `${lua('Before All', 'print("@@" .. #inputs .. inputs[1].path)', 'return aip.flow.before_all_response({inputs = {inputs[1]}})')}${lua(
      'Data',
      'return aip.flow.data_response({data = 1, attachments = {{file_source = "docs/a.txt", title = "the notes"}}})',
    )}# User\n\nx\n`,
    files: { 'docs/a.txt': 'some notes', 'node_modules/m/b.txt': 'y' },
    args: ['-f', '**/*.txt'],
    reply: { text: 'fine' },
    prints: ['@@1docs/a.txt'],
  },
]

describe.each(['lua54', 'fengari'])('behaves like runs of AIPack were measured, on %s', (engine) => {
  it.each(runs)('$kind: $prints', async ({ agent, files: others, args = [], reply, prints }) => {
    // J is a function of the agent itself, as in the measured runs
    const withJ = agent.replaceAll('```lua\n', () => `\`\`\`lua\n${show}`)
    const server = await startModelServer(() => reply ?? { status: 500, body: 'no model is asked' })
    const { stdout, stderr, code } = await baton(
      ['run', 'main.aip', ...args, '-m', 'm', '-c', `lua.engine=${engine}`],
      {
        cwd: tempTree({ '.aipack/config.toml': '', 'main.aip': withJ, ...others }),
        env: { BATON_GATEWAY_URL: server.url },
      },
    )
    await server.close()
    expect(code, stderr).toBe(0)
    const lines = stdout.split('\n')
    const first = lines.findIndex((line) => line.startsWith('@@'))
    expect(lines.slice(first, first + prints.length)).toEqual(prints)
    const messages = server.requests[0]?.body?.messages
    if (agent.includes('attachments')) expect(JSON.stringify(messages)).toContain('some notes')
  })
})
