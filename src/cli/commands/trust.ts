import { existsSync } from 'node:fs'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { escapeControls, harmlessName } from '../../base/terminal-text.ts'
import { issuesOf } from '../../config/issue.ts'
import { findWorkspace } from '../../config/locate.ts'
import { filesNamed } from '../../config/named-files.ts'
import {
  isUnchanged,
  readTrusted,
  sealNames,
  type TrustedFile,
  trustFile,
  trustKey,
  writeTrusted,
} from '../../config/trust.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { ask, type MayAsk } from '../confirm.ts'
import { type CommandIo, openWorkplace, type Surroundings, type Workplace } from '../io.ts'
import { presentContent, trustPath, type TrustSubject, trustSubject } from '../trust-subject.ts'

/** `baton trust [FILE…]`: allows files to set guarded keys, by recording their current content. */
export async function trustCommand(flags: Flags<'trust'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  if (flags.remove) return removeTrust(flags, workplace, io)
  await (flags.files.length === 0 ? listTrust(workplace) : addTrust(flags.files, workplace))
  return 0
}

/**
 * Asks whether to trust the current content of the files for which a run was refused. True: they are trusted, and the
 * run may be tried again. Does not ask about files that `baton trust` would refuse.
 */
export async function askForTrust(
  error: unknown,
  { flags, around }: { readonly flags: MayAsk; readonly around: Surroundings },
  io: CommandIo,
): Promise<boolean> {
  const refused = issuesOf(error).filter(({ code }) => code === 'UNTRUSTED')
  const files = [...new Set(refused.flatMap(({ place }) => place?.file ?? []))]
  if (files.length === 0) return false
  const subjects = await trustable(files, around).catch((problem: unknown) => {
    if (isBatonError(problem)) return undefined
    throw problem
  })
  if (subjects === undefined) return false
  // in full, however long: a truncated part could be what matters
  const shown = valueLines(subjects.flatMap(({ values }) => values))
  const named = subjects.map(({ keys }, index) => `${files[index]} (${keys.join(', ')})`)
  const question = `${shown}trust ${harmlessName(named.join(' and '))} with this content`
  if ((await ask(question, flags, io)) !== true) return false
  recordTrust(subjects, around)
  return true
}

/**
 * What the files need trust for, with their current content. Reads all before the first is recorded.
 * @throws BatonError for a file that cannot be read, cannot be trusted, or needs no trust
 */
function trustable(files: readonly string[], around: Surroundings): Promise<readonly TrustSubject[]> {
  return Promise.all(files.map((file) => trustSubject(file, around)))
}

function valueLines(values: readonly string[]): string {
  return values.map((value) => `  ${harmlessName(escapeControls(value))}\n`).join('')
}

function recordTrust(subjects: readonly TrustSubject[], around: Surroundings): void {
  const store = trustFile(around)
  const since = new Date().toISOString()
  const files = subjects.map(({ path, content, keys, names }): readonly [string, TrustedFile] => {
    const leads = filesNamed(names.words, names.folders)
    const isNone = Object.keys(leads).length === 0
    const sealed = names.words.length === 0 ? {} : { sealed: sealNames(names, content) }
    const hash = content === '' ? '' : sha256(content)
    return [path, { hash, keys, since, ...(isNone ? {} : { leads }), ...sealed }]
  })
  writeTrusted(store, new Map([...readTrusted(store), ...files]))
}

async function addTrust(files: readonly string[], workplace: Workplace): Promise<void> {
  const subjects = await trustable(files, workplace)
  recordTrust(subjects, workplace)
  const { cwd, print, note } = workplace
  for (const { path, keys, values, names } of subjects) {
    const shown = harmlessName(displayPath(cwd, path))
    print({ file: path, trusted: true, keys }, () => `${shown}: trusted with ${harmlessName(keys.join(', '))}\n`)
    note(valueLines(values))
    for (const file of Object.keys(filesNamed(names.words, names.folders)))
      note(`  and with the content of ${harmlessName(displayPath(cwd, file))}\n`)
  }
  if (subjects.some(({ content }) => content !== '')) {
    const hasServers = subjects.some(({ keys }) => keys.some((key) => key.startsWith('mcp_servers')))
    note(`valid until the files change${hasServers ? '' : '; your keys are never sent to their hosts'}\n`)
  }
}

/** Also removes trust of files that no longer exist. */
function removeTrust({ files, json, level }: Flags<'trust'>, workplace: Workplace, io: CommandIo): number {
  if (files.length === 0) throw usageError('--remove needs files', 'baton trust lists the trusted files.')
  const { cwd, print } = workplace
  const store = trustFile(workplace)
  const trusted = new Map(readTrusted(store))
  let missing = 0
  for (const name of files) {
    const path = trustPath(name, workplace)
    const file = [trustKey(path, findWorkspace(workplace)), realPath(path)].find((one) => trusted.delete(one))
    if (file !== undefined) {
      const text = `${harmlessName(displayPath(cwd, file))}: no longer trusted\n`
      print({ file, trusted: false }, () => (level === 'quiet' ? '' : text))
    } else {
      missing += 1
      if (!json) io.err(`${harmlessName(name)} was not trusted\n`)
    }
  }
  writeTrusted(store, trusted)
  return missing === 0 ? 0 : 1
}

const stateNotes = { trusted: '', changed: ' (changed since, no longer trusted)', missing: ' (missing)' } as const

async function listTrust(workplace: Workplace): Promise<void> {
  const { cwd, print, note } = workplace
  const trusted = readTrusted(trustFile(workplace))
  for (const [file, entry] of trusted) {
    const { keys, since } = entry
    const state = await stateOf(file, entry)
    print(
      { file, keys, since, state },
      () => `${harmlessName(displayPath(cwd, file))}: ${harmlessName(keys.join(', '))}${stateNotes[state]}\n`,
    )
  }
  if (trusted.size === 0) note('no file is trusted\n')
}

async function stateOf(path: string, entry: TrustedFile): Promise<keyof typeof stateNotes> {
  if (entry.hash === '') return existsSync(path) ? 'trusted' : 'missing'
  try {
    return isUnchanged(entry, await presentContent(path)) ? 'trusted' : 'changed'
  } catch (error) {
    return error instanceof BatonError && error.code === 'FILE_UNREADABLE' ? 'missing' : 'changed'
  }
}
