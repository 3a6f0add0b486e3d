import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { jsonLines, root } from '../helpers/baton.ts'
import { attack } from './attempts.ts'
import { createWorld, type World } from './harness.ts'

// External text that reaches a terminal, in every command and from every source: texts that clear the screen, set
// the clipboard, or hide or reverse what follows, in forms that terminals obey. `end` marks where such a text was
// shown.

const nasty = {
  'a sequence that clears the screen': '\u001b[2J\u001b[H',
  'a title and the clipboard': '\u001b]0;owned\u0007\u001b]52;c;b3duZWQ=\u001b\\',
  'colors of ours, and hidden text': '\u001b[31mred\u001b[8mhidden',
  'C1 controls': '\u009b2J\u0085\u0090q\u009c',
  'carriage return and backspace': 'rm -rf /\r\u0008\u0008ok',
  'text from right to left': '\u202egnp.exe\u2066\u200f\u061c',
  'line separators': 'one\u2028two\u2029three',
  tags: 'x\u{e0041}\u{e0042}\u{e007f}',
  'a device that answers': '\u001b[6n\u001b[c\u001bPq\u001b\\',
} as const

/**
 * Everything a terminal may get besides text: our colors, the cursor moves of the live view, and what `script` makes of
 * line ends.
 */
const ours = /\u001b\[(?:(?:0|1|2|22|3[1-6]|39)m|\d*[AJK]|\?(?:25|7)[lh])/g // oxlint-disable-line no-control-regex
const obeyed = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]/u

const returns = /\r(?=\u001b\[|$)/g // oxlint-disable-line no-control-regex

/** The rest after our own codes are removed. */
function foreign(output: string): string {
  return output.replaceAll('\r\n', '\n').replaceAll(returns, '').replaceAll(ours, '')
}

/** The part of the output that a terminal would obey; undefined if it is clean. */
function problemIn(output: string): string | undefined {
  // a color in foreign text must not be shown, even if it is one of ours
  if (output.includes('\u001b[31mred')) return 'foreign color'
  const rest = foreign(output)
  const at = obeyed.exec(rest)
  return at === null ? undefined : JSON.stringify(rest.slice(Math.max(0, at.index - 80), at.index + 40))
}

let server: ModelServer
let text = ''
beforeAll(async () => {
  server = await startModelServer(() => {
    const half = Math.floor(text.length / 2)
    // pieces that end within a sequence
    return { chunks: ['answer ', text.slice(0, 1), text.slice(1, half), text.slice(half), ' end\n'] }
  })
})
afterAll(() => server.close())

const lua = (value: string): string =>
  `"${Array.from(Buffer.from(value), (byte) => `\\${String(byte).padStart(3, '0')}`).join('')}"`

function filesWith(value: string): Readonly<Record<string, string>> {
  const name = value.replaceAll('/', '')
  const json = JSON.stringify(value)
  const toml = json.replaceAll(/[\u007f-\u009f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)
  return {
    'baton.toml': '',
    'ask.md': `+++\n[[sub_agents]]\nname = "say"\nstage = "pre"\n[[sub_agents]]\nname = "label"\nstage = "post"\n+++\nTell ${value}.\n`,
    'each.md': '+++\nglobs = ["data/*"]\n+++\nTell.\n',
    'say.lua': `print(${lua(value)})\naip.run.pin("p", 1, ${lua(value)})\nreturn { coder_params = { x = ${lua(value)} } }\n`,
    'label.lua': `print("done " .. ${lua(value)})\n`,
    'fail.md': `+++\n[[sub_agents]]\nname = "boom"\nstage = "pre"\n+++\nTell.\n`,
    'boom.lua': `-- ${value.replaceAll(/[\r\n]/g, '')}\nerror(${lua(value)}) -- ${value.replaceAll(/[\r\n]/g, '')}\n`,
    'skip.aip': `# Data\n\n\`\`\`lua\nreturn aip.flow.skip(${lua(value)})\n\`\`\`\n`,
    'wrong.md': `+++\n${toml} = 1\n+++\nTell {{${value}}}.\n`,
    'broken.md': `+++\nmodel = ${value}\n+++\nTell.\n`,
    'odd.md': `+++\nmodel = ${toml}\n+++\nTell.\n`,
    'guarded.md': `+++\n[gateway]\nurl = ${toml}\n+++\nTell.\n`,
    'change.md': '+++\nglobs = ["data/*"]\n+++\nChange it.\n',
    [`data/${name}.txt`]: `${value}\n`,
    [`agents/${name}.lua`]: `-- ${value}\nreturn 1\n`,
    'about.aip': `# Options\n\ndescription = ${toml}\n\n# Instruction\n\n${value}\n`,
    '.baton/packs/odd/pack/pack.toml': `[pack]\nversion = "0.1.0"\nnamespace = "odd"\nname = "pack"\ndescription = ${toml}\n`,
    '.baton/packs/odd/pack/main.aip': `# Instruction\n\n${value}\n`,
    'pack/pack.toml': `[pack]\nversion = "0.1.0"\nnamespace = "other"\nname = "pack"\ndescription = ${toml}\n`,
    'pack/main.aip': `# Instruction\n\n${value}\n`,
  }
}

/** Shell words; `$NAME` is the text itself. They may fail: only their output matters. */
const commands = [
  'ask.md -m any',
  'ask.md -m any --json',
  'ask.md -m any -v',
  'each.md -m any',
  '-p "$NAME" -m any',
  'ask.md -m "$NAME"',
  'ask.md -m any -c "$NAME=1"',
  'ask.md -m any -c prompt="$NAME"',
  'ask.md -m any --dry req',
  'fail.md -m any',
  'fail.md -m any --json',
  'skip.aip',
  'wrong.md',
  'broken.md',
  'odd.md',
  'guarded.md',
  '"$NAME"',
  '"$NAME.md"',
  '"$NAME@pack"',
  'run ask.md --"$NAME"',
  'check wrong.md broken.md fail.md odd.md',
  'check wrong.md broken.md --format github',
  'check wrong.md broken.md --format sarif',
  'check wrong.md broken.md --json',
  'check "$NAME"',
  'plan each.md -m any',
  'plan ask.md --json -m any',
  'plan "$NAME"',
  'list',
  'list --json',
  'list "$NAME"',
  'list --names',
  'config odd.md',
  'config odd.md --origin --json',
  'doctor',
  'trust',
  'trust guarded.md --no-input',
  'trust "$NAME"',
  'new prompt "$NAME"',
  'new agent "$NAME"',
  'install "$NAME"',
  'install ./pack -y',
  'install ./pack --no-input',
  'pack ./pack',
  'unpack "$NAME"',
  'runs',
  'runs --json',
  'runs show last',
  'runs show last --all',
  'runs show last --json',
  'runs show last --diff',
  'runs show "$NAME"',
  'runs show last --place "$NAME"',
  'runs diff last last',
  'runs export last',
  'runs rm "$NAME"',
  'resume "$NAME"',
  'undo',
  'undo --dry',
  'undo "$NAME"',
  'schema "$NAME"',
  'completion "$NAME"',
  'help "$NAME"',
  'test "$NAME"',
  'ask.md --replay "$NAME"',
  'ask.md -m any --output "$NAME/x"',
  '-C "$NAME" list',
]

const mayBeSilent: ReadonlySet<string> = new Set(['list --names'])

/** Worlds in which a text is every name and value that a command may show; created once, with a run to show. */
const worlds = new Map<string, Promise<World>>()

function worldWith(value: string): Promise<World> {
  const known = worlds.get(value)
  if (known !== undefined) return known
  const env = { BATON_GATEWAY_URL: server.url, NAME: value, NO_COLOR: '', TERM: 'xterm', SHELL: '/bin/sh' }
  const world = createWorld({ work: filesWith(value), env })
  const path = value.replaceAll(/["\r\n/]/g, '')
  text = `${value}<FILE_CHANGES>\n<FILE_NEW file_path="${path}.txt">\n${value}\n</FILE_NEW>\n</FILE_CHANGES>`
  const made = world.run(['ask.md', '-m', 'any']).then(() => world)
  worlds.set(value, made)
  return made
}

interface Shown {
  readonly command: string
  readonly value: string
}

const everything = Object.values(nasty).join('')
const shownBy = (values: Readonly<Record<string, string>>): Readonly<Record<string, Shown>> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      commands.map((command) => [`${command} · ${name}`, { command, value }]),
    ),
  )

attack(
  'nothing of outside moves a terminal',
  { core: shownBy({ 'all at once': everything }), every: 2, more: () => shownBy(nasty) },
  async ({ command, value }) => {
    const world = await worldWith(value)
    const baton = `baton() { '${process.execPath}' '${join(root, 'dist/bin/baton.js')}' "$@"; }`
    // the pseudo-terminal of util-linux
    const end = await world.run(['-qefc', `${baton}\nbaton ${command} </dev/null`, '/dev/null'], { program: 'script' })
    expect(end.isHung).toBe(false)
    expect(end.stdout === '' && !mayBeSilent.has(command)).toBe(false)
    expect(problemIn(end.stdout)).toBe(undefined)
  },
)

it('JSON and exported runs mask the same values in escaped form, also in pipes and files', async () => {
  const world = await worldWith(everything)
  const { stdout } = await world.run(['ask.md', '-m', 'any', '--json'])
  const prints = jsonLines(stdout).filter(({ type }) => type === 'print')
  expect(prints.map(({ text: printed }) => printed)).toContain(everything)
  expect(obeyed.exec(stdout)).toBe(null)
  const exported = await world.run(['runs', 'export', 'last'])
  expect(exported.code).toBe(0)
  expect(obeyed.exec(exported.stdout)).toBe(null)
})
