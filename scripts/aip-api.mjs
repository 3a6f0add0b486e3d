// Writes docs/aip-api.md from the doc comments of the host modules; with --check, compares and changes nothing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const hostFolder = join(root, 'src/script/host')
const page = join(root, 'docs/aip-api.md')
const width = 120

/** All names of AIPack's API, as `aip.<module>.<name>`, from the list that the tests compare against. */
function aipackNames() {
  const list = readFileSync(join(root, 'test/compat/aipack-functions.ts'), 'utf8')
  const modules = list.matchAll(/^ {2}(\w+):\s*['`]([^'`]*)['`]/gm)
  return new Set([...modules].flatMap(([, module, names]) => names.split(/\s+/).map((name) => `aip.${module}.${name}`)))
}

/**
 * The entries of one file: doc comments that start with Lua signatures in backticks, each on its own line; the
 * description may follow the last one on the same line.
 */
function entriesOf(source) {
  return [...source.matchAll(/^ *\/\*\*((?: [^\n]*?)?(?:\n *\*(?: .*)?)*?)(?:\n *)? ?\*\/$/gm)].flatMap(
    ([, comment]) => {
      const lines = comment
        .split('\n')
        .map((line) => line.replace(/^ *\*? ?/, ''))
        .filter((line) => line !== '')
      const signatures = []
      for (let ended = false; !ended && lines.length > 0;) {
        const [, signature, rest = ''] = /^(`[a-zA-Z_][\w.]*(?:\([^`]*)?`)(?:$|(?<=\)[^`]*`) (.*))/.exec(lines[0]) ?? []
        if (signature === undefined) break
        signatures.push(signature)
        ended = rest !== ''
        if (ended) lines[0] = rest
        else lines.shift()
      }
      return signatures.length === 0 ? [] : [{ signatures, description: lines.join(' ').trim() }]
    },
  )
}

function nameOf(signature) {
  return /^`([\w.]+)/.exec(signature)[1]
}

function moduleOf({ signatures: [first] }) {
  const name = nameOf(first)
  return name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : 'globals'
}

/** An entry with only the signatures whose names are wanted; nothing if there are none. */
function restricted(entry, isWanted) {
  const signatures = entry.signatures.filter((signature) => isWanted(nameOf(signature)))
  return signatures.length === 0 ? [] : [{ ...entry, signatures }]
}

function wrap(text, indent) {
  const lines = ['']
  // inline code is not split across lines
  for (const word of text.match(/(?:[^\s`]|`[^`]*`)+/g) ?? []) {
    const line = lines.at(-1)
    if (line !== '' && indent.length + line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.map((line) => indent + line).join('\n')
}

function section(title, entries) {
  const items = entries.map(
    ({ signatures, description }) => `- ${signatures.join(',\n  ')}:\n${wrap(description, '  ')}`,
  )
  return `### ${title}\n\n${items.join('\n')}\n`
}

/** A part of the page; empty if it has no entries. */
function part(title, entries) {
  const modules = [...new Set(entries.map(moduleOf))].toSorted((one, other) => (one < other ? -1 : 1))
  const sections = modules.map((module) =>
    section(
      module === 'globals' ? 'Globals' : `\`${module}\``,
      entries.filter((entry) => moduleOf(entry) === module),
    ),
  )
  return sections.length === 0 ? '' : `\n## ${title}\n\n${sections.join('\n')}`
}

function render() {
  const files = readdirSync(hostFolder).filter((file) => file.endsWith('.ts'))
  const entries = files
    .toSorted((one, other) => (one < other ? -1 : 1))
    .flatMap((file) => entriesOf(readFileSync(join(hostFolder, file), 'utf8')))
  const names = aipackNames()
  const select = (isWanted) => entries.flatMap((entry) => restricted(entry, isWanted))
  const isModule = (name) => name.startsWith('aip.')
  const parts = [
    part(
      'The functions of AIPack',
      select((name) => names.has(name)),
    ),
    part(
      'Functions that AIPack does not have',
      select((name) => isModule(name) && !names.has(name)),
    ),
    part(
      'Outside `aip`',
      select((name) => !isModule(name)),
    ),
  ]
  return `# Host functions

<!-- Written by \`node scripts/aip-api.mjs\` from the doc comments in src/script/host/. Do not edit. -->

The functions that Lua scripts can call in addition to Lua's own. How scripts run, how paths are resolved and which
accesses are checked: [lua.md](lua.md#host-functions).

A \`?\` after an argument, a field or a result means that it may be nil. \`FileInfo\` is
\`{path, dir, name, stem, ext, ctime?, mtime?, size?, is_likely_text}\`, with times in microseconds since 1970;
\`FileRecord\` is the same with \`content\`. Errors are raised; \`pcall\` catches them.
${parts.join('')}`
}

const text = render()
if (!process.argv.includes('--check')) writeFileSync(page, text)
else if (readFileSync(page, 'utf8') !== text) {
  process.stderr.write('docs/aip-api.md is out of date: run node scripts/aip-api.mjs\n')
  process.exitCode = 1
}
