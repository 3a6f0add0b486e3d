import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programIn } from '../../../src/agent/modes/code/answer.ts'
import { isBatonError } from '../../../src/base/error.ts'
import { compileGlobs, globOrder } from '../../../src/base/glob.ts'
import type { Json } from '../../../src/base/json.ts'
import { JsonSyntaxError, parseJsonc, parseStrictJson } from '../../../src/base/json-text.ts'
import { parseToml } from '../../../src/base/toml.ts'
import { parseYaml, parseYamlDocuments } from '../../../src/base/yaml.ts'
import { checkZip, openZip } from '../../../src/base/zip.ts'
import { createMemoryJournal } from '../../../src/journal/memory.ts'
import { decodeLine, encodeLine, isKnownRecord } from '../../../src/journal/record.ts'
import { indexRun } from '../../../src/journal/run-index.ts'
import { createMask } from '../../../src/journal/secrets.ts'
import { commonQuirks } from '../../../src/model/wire/format.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'
import { readBatches } from '../../../src/model/answer.ts'
import { createSseDecoder } from '../../../src/model/sse.ts'
import { parsePackRef } from '../../../src/pack/pack-ref.ts'
import { parseSource } from '../../../src/pack/source.ts'
import { placeInProgram } from '../../../src/script/javascript/run-program.ts'
import { withoutFence } from '../../../src/script/javascript/source.ts'
import { parseAip, readCacheOption, readTable } from '../../../src/prompt/aip.ts'
import { hashPrompt, parsePrompt, placeOf, withoutTranscript } from '../../../src/prompt/document.ts'
import { loadTemplates } from '../../../src/prompt/template.ts'
import { readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import { openMemoryRecords } from '../../helpers/memory-journal.ts'
import { rawZip } from '../../helpers/raw-zip.ts'
import { chatEvents } from '../../helpers/model-server.ts'
import { root } from '../../helpers/baton.ts'
import type { Material } from './generate.ts'

/** A parser under attack: for every text it returns a value or throws a BatonError. */
export interface FuzzedParser extends Material {
  readonly name: string
  /** Parses an input; settles within the limits of the run. */
  readonly read: (input: string) => Promise<void>
}

const file = (path: string): string => readFileSync(join(root, path), 'utf8')
const words = (text: string): readonly string[] => text.split('·')

const journalFolder = 'test/fixtures/journals/v2-sections/home/state/runs/work-a5b445fdc89e/20261122-214213-3d220f326'
const journalLines = file(`${journalFolder}/j-000001.jsonl`)
  .split('\n')
  .map((line) => line.slice(9))

const shortFiles = {
  prompt: [
    '+++\nmodel = "a"\n[[sub_agents]]\nname = "x"\nstage = "pre"\n+++\n\nDo it.\n====\n> asked\n',
    '---\nmodel: a\nsub_agents:\n  - {name: x, stage: pre}\n---\nDo it.\n',
    'Do it.\n\n```toml\n#!meta\nglobs = ["**/*.ts"]\nn = 1_000.5e3\nd = 1979-05-27T07:32:00Z\n```\n',
    "+++\na.b.\"c d\" = { x = [1, 2], y = '''z''' }\n+++\nText\n",
  ],
  yaml: ['a: &x [1, 2]\nb: *x\nc: |\n  text\n  more\n? k\n: v\n---\n- 0x1F\n- .inf\n- 2001-01-01\n...\n'],
  json: ['{"a": [1, -2.5e-3, true, null, "\\u00e9\\ud83d\\ude00"], /* c */ "b": {"c": 12345678901234567890,},}\n'],
}

const changes = [
  '<FILE_CHANGES>\n<FILE_NEW file_path="a.ts">\none\n</FILE_NEW>\n<FILE_DELETE file_path="b.ts" />\n</FILE_CHANGES>\n',
  '<FILE_PATCH file_path="a.ts">\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n</FILE_PATCH>\n',
  'a.ts\n```ts\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n',
  '```diff\n--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-one\n+two\n```\n',
  '[[[UDIFFX_FILE_CHANGES]]]\n[[FILE_NEW file_path="a"]]\nx\n[[/FILE_NEW]]\n[[[/UDIFFX_FILE_CHANGES]]]\n',
  '<think>\nfirst\n</think>\n<FILE_RENAME from_path="a" to_path="b" />\n<FILE_APPEND file_path="c">\nx\n</FILE_APPEND>\n',
]

const wire = [chatFormat, responsesFormat, anthropicFormat, geminiFormat]

const streams = [
  chatEvents({
    text: '<think>no</think> a b',
    reasoning: ['r'],
    toolCalls: [{ id: 'c', name: 'f', pieces: ['{"a"', ':1}'] }],
  }).join(''),
  ': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\nid: 1\ndata: a\ndata: b\n\nretry: 5\n\n',
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n' +
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n' +
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  'data: {"candidates":[{"content":{"parts":[{"text":"hi"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}\n\n',
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}\n\n' +
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
]

const archives = [
  rawZip([{ name: 'pack.toml', data: 'name = "a"\n' }]),
  rawZip([
    { name: 'a/', mode: 0o40755 },
    { name: 'a/b.txt', data: 'x'.repeat(300), method: 8 },
  ]),
  rawZip([{ name: 'c', data: 'text' }], { isLong: true, comment: 'about' }),
].map((bytes) => bytes.toString('latin1'))

const hidden = createMask({}, { values: { KEY: 'a-secret-value' } })

/** All parsers of external input. Text is passed as UTF-16; archives are its low bytes. */
export async function fuzzedParsers(): Promise<readonly FuzzedParser[]> {
  const templates = await loadTemplates()
  return [
    {
      name: 'front matter',
      seeds: [...shortFiles.prompt, file('pipelines/quickstart.md'), file('pipelines/coder.md')],
      tokens: words(
        '+++·---·====·```·~~~·toml·yaml·#!meta·\n·\n\n·[·]·[[·]]·=·.·a·"·"""·\'·\'\'\'·{·}·,·1·-·_·e9·true·1979-05-27·T07:32:00Z·#·: ·- ·|·>·&a·*a·!!t·? ·<<·model·sub_agents',
      ),
      async read(input) {
        hashPrompt(input)
        withoutTranscript(input)
        const document = await parsePrompt('x.md', input)
        const key = Object.keys(document.meta.data)[0]
        if (key !== undefined) await placeOf(document, [key, 0, 'x'], 'value')
      },
    },
    {
      name: '.aip',
      seeds: [file('agents/summarizer.aip'), file('agents/git-diff.aip'), file('starters/agent.aip')],
      tokens: words(
        '# ·Options·Data·Output·System·User·Before All·After All·Assistant·Instruction·```·````·lua·toml·`cache = true`·`·\n·\n\n·## ·return·local·{{x}}·model = "a"·=·{·}·[·]·"',
      ),
      async read(input) {
        const document = parseAip('x.aip', input)
        if (document.options !== undefined) await readTable('x.aip', input, document.options)
        for (const { optionText, line } of document.parts) {
          if (optionText !== undefined) await readCacheOption(optionText, { file: 'x.aip', text: input, line })
        }
      },
    },
    {
      name: 'answers',
      seeds: changes,
      tokens: words(
        '<FILE_CHANGES>·</FILE_CHANGES>·<FILE_NEW ·</FILE_NEW>·<FILE_PATCH ·</FILE_PATCH>·<FILE_DELETE ·<FILE_RENAME ·file_path="a"·from_path="a"·to_path="b"·>·/>·\n·@@ -1 +1 @@·@@·@@ ... @@·+·-· ·```·```diff·--- a/a·+++ b/a·<<<<<<< SEARCH·=======·>>>>>>> REPLACE·[[·]]·[[[·]]]·<think>·</think>·<!--·-->·<![CDATA[·]]>·&lt;·text·a.ts',
      ),
      read: async (input) => void readFileChanges(input),
    },
    {
      name: 'programs',
      seeds: [
        'I look.\n\n```ts\nconst a: number = b.c\nlog(a)\n```\nThat is it.',
        '~~~ js {title}\nfor (const one of none) output(one["x"])\n~~~\n',
        '````js\n/* c */ log("```") // it\n````',
      ],
      tokens: words(
        "```·~~~·````·`·~· ·\n·\r\n·js·ts·sh·output(·)·{·}·[·]·,·=·.·..·:·\"·'·\\·/*·*/·//·of·b.c·x is not defined·cannot read property 'c' of undefined",
      ),
      async read(input) {
        programIn(input)
        const text = withoutFence(input)
        const [first = '', second = ''] = input.split('\n')
        for (const message of [first, `${second} is not defined`, `cannot read property '${second}' of undefined`]) {
          placeInProgram({ message, stack: 'at f (program:1:2)' }, { text, shift: 0 })
        }
      },
    },
    {
      name: 'globs',
      seeds: ['src/**/*.{ts,tsx}', '!**/node_modules/**', '[!a-z]?[]x]*', '{a,{b,c{d,e}}}/\\*', '../a/./b//c', '/'],
      tokens: words('*·**·?·[·]·!·^·-·{·}·,·/·\\·.·..·~·a·b·(·)·|·+·@·$·\n· ·ä'),
      async read(input) {
        const [glob = '', path = 'a/b/c.ts'] = input.split('\n')
        compileGlobs([glob, `!${path}`]).matches(path)
        globOrder([glob])(path, 'last')
      },
    },
    {
      name: 'templates',
      seeds: [
        '{{#each items}}{{@index}} {{this.name}}{{else}}none{{/each}}',
        '{{#if (eq a "x")}}{{a}}{{~else if b~}}{{{b}}}{{/if}}{{!-- c --}}{{! d }}',
        '{{#with a as |x|}}{{x.[y z]}}{{../b}}{{/with}}\\{{a}} {{#unless a}}u{{/unless}} {{lookup a 0}}',
      ],
      tokens: words(
        '{{·}}·{{{·}}}·{{#·{{/·{{~·~}}·{{else}}·{{^·{{!--·--}}·{{>·{{&·if·each·with·unless·eq·lookup·as |x|·this·..·../·@index·@root·.·[·]·(·)·=·"a"·1·true·null·items·a·b·\\·\n·{{#*inline "a"}}·{{> @partial-block}}·{{__proto__}}·{{constructor}}',
      ),
      async read(input) {
        templates.problems(input)
        templates.render(input, { a: 'x', b: true, items: [{ name: 'n' }, { name: 2 }], deep: { deep: {} } })
      },
    },
    {
      name: 'journals',
      seeds: [journalLines.join('\n'), ...journalLines.filter((line) => line.length < 600).slice(0, 12)],
      tokens: words(
        '{·}·[·]·"·:·,·\n·"e":1·"n":2·"t":0·"k":"seg"·"k":"obs"·"k":"done"·"k":"started"·"k":"ended"·"k":"run.start"·"k":"source"·"k":"show"·"k":"begin"·"k":"undo"·"k":"call"·"p":"task/1"·"s":1·"status":"ok"·"value"·{"$blob":"x"}·{"$big":"1"}·{"$bytes":"eA=="}·{"$num":"NaN"}·null·-1·1e99·«secret:KEY»·«secret:·[]·{}',
      ),
      async read(input) {
        const lines = input.split('\n')
        decodeLine(Buffer.from(input))
        const records = lines.flatMap((json) => {
          const record = decodeLine(Buffer.from(encodeLine(json).slice(0, -1)))
          return record !== undefined && isKnownRecord(record) ? [record] : []
        })
        if (records.length === 0) return
        const source = openMemoryRecords(records, hidden)
        await indexRun(source, { keeps: 'everything' })
        for (const record of records) {
          for (const field of Object.values(record) as readonly Json[]) source.value(field)
        }
        const copy = createMemoryJournal({ mask: hidden })
        copy.note({ k: 'show', p: 'x', event: hidden.unmask(input) })
      },
    },
    {
      name: 'sse',
      seeds: streams,
      tokens: words(
        'data: ·data:·event: ·id: ·retry: ·: ·\n·\n\n·\r\n·\r·{"choices":[{"index":0,"delta":{"content":"a"}}]}·{}·[]·null·[DONE]·{"type":"·ping·"}·"·{·}·[·]·:·,·1·-1·"delta"·"content"·"tool_calls"·"usage"·"error"·"finish_reason":"stop"·<think>·</think>·"parts"·"candidates"·"output"·"index"·"text"',
      ),
      async read(input) {
        const bytes = Buffer.from(input)
        for (const format of wire) {
          const decoder = createSseDecoder()
          const answer = readBatches(format)
          format.parser(() => undefined).readBody(input)
          const step = 1 + (bytes.length % 37)
          for (let start = 0; start < bytes.length; start += step) {
            if (answer.read(decoder.push(bytes.subarray(start, start + step))).fault !== undefined) break
          }
          answer.read(decoder.end())
          answer.end()
          format.body({ model: input.slice(0, 20), messages: [] }, commonQuirks)
        }
      },
    },
    {
      name: 'archives',
      seeds: archives,
      tokens: [
        'PK\u0003\u0004',
        'PK\u0001\u0002',
        'PK\u0005\u0006',
        'PK\u0006\u0006',
        'PK\u0006\u0007',
        '\u00ff\u00ff\u00ff\u00ff',
        '\u0000\u0000\u0000\u0000',
        '\u0008\u0000',
        '../',
        'a/b.txt',
        '/',
        '\\',
        'C:',
        '\u0014\u0000',
        '\u0001\u0000',
      ],
      async read(input) {
        const zip = openZip(Buffer.from(input, 'latin1'), { archive: 'x.zip' })
        await checkZip(zip, new AbortController().signal)
      },
    },
    {
      name: 'data and names',
      seeds: [...shortFiles.yaml, ...shortFiles.json, 'pro@coder/plan.md', 'git+https://u:p@host/x.git@v1#sub'],
      tokens: words(
        '{·}·[·]·"·\'·:·,·- ·\n·  ·&a·*a·!!set·!t·<<: ·|·>·? ·---·...·#·0x·1e5·.nan·null·~·true·\\u0041·/*·*/·//·a@b/c·@·$tmp·git+·https://·ssh://·#sub·=·"""',
      ),
      async read(input) {
        const source = { file: 'x', text: input, block: input, firstLine: 1, what: 'it', code: 'USAGE' } as const
        for (const parse of [
          () => parseJsonc(input),
          () => parseStrictJson(input),
          () => parsePackRef(input),
          () => parseSource(input, { cwd: '/c', home: '/h' }),
          () => parseYaml(source),
          () => parseYamlDocuments(source),
          () => parseToml(source),
        ]) {
          await expected(parse)
        }
      },
    },
  ]
}

/** Our own errors are an outcome like any other. */
async function expected(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isBatonError(error) && !(error instanceof JsonSyntaxError)) throw error
  }
}
