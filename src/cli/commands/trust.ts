import { resolve } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath, readSourceFile, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import type { JsonObject } from '../../base/json.ts'
import { issuesOf, issuesToError, readTomlFile, withPlace } from '../../config/issue.ts'
import { userConfigFile } from '../../config/locate.ts'
import {
  checkTrust,
  guardedKeys,
  type TrustedFile,
  type TrustedFiles,
  promptTrustHash,
  readTrusted,
  trustFile,
  writeTrusted,
} from '../../config/trust.ts'
import { parsePrompt } from '../../prompt/document.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { ask, type MayAsk } from '../confirm.ts'
import { type CommandIo, openWorkplace, type Surroundings, type Workplace } from '../io.ts'

/** `baton trust [FILE…]`: records the content of files that set guarded keys, which allows them to. */
export async function trustCommand(flags: Flags<'trust'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  if (flags.remove) return removeTrust(flags, workplace, io)
  await (flags.files.length === 0 ? listTrust(workplace) : addTrust(flags.files, workplace))
  return 0
}

/**
 * Asks whether the files that a run was refused for are to be trusted as they are now. True: they are, and the run may be
 * tried again. Files that `baton trust` would refuse are not asked about.
 */
export async function askForTrust(
  error: unknown,
  { flags, around }: { readonly flags: MayAsk; readonly around: Surroundings },
  io: CommandIo,
): Promise<boolean> {
  const refused = issuesOf(error).filter(({ code }) => code === 'UNTRUSTED')
  const files = [...new Set(refused.flatMap(({ place }) => place?.file ?? []))]
  if (files.length === 0) return false
  const trusted = await trustable(files, around).catch((problem: unknown) => {
    if (isBatonError(problem)) return undefined
    throw problem
  })
  if (trusted === undefined) return false
  const named = [...trusted.values()].map(({ keys }, index) => `${files[index]} (${keys.join(', ')})`)
  if ((await ask(`trust ${harmlessName(named.join(' and '))} with this content`, flags, io)) !== true) return false
  recordTrust(trusted, around)
  return true
}

/**
 * What is recorded of files so that they are trusted as they are now; all are checked before the first is recorded.
 * @throws BatonError for a file that cannot be read, cannot be trusted, or needs no trust
 */
async function trustable(files: readonly string[], around: Surroundings): Promise<TrustedFiles> {
  const since = new Date().toISOString()
  return new Map(await Promise.all(files.map((file) => inspect(file, since, around))))
}

function recordTrust(files: TrustedFiles, around: Surroundings): void {
  const store = trustFile(around)
  writeTrusted(store, new Map([...readTrusted(store), ...files]))
}

async function addTrust(files: readonly string[], workplace: Workplace): Promise<void> {
  const trusted = await trustable(files, workplace)
  recordTrust(trusted, workplace)
  const { cwd, print, note } = workplace
  for (const [file, { keys }] of trusted) {
    print(
      { file, trusted: true, keys },
      () => `${harmlessName(displayPath(cwd, file))}: trusted with ${keys.join(', ')}\n`,
    )
  }
  note('valid until the files change; your keys are never sent to their hosts\n')
}

async function inspect(
  name: string,
  since: string,
  { cwd, env, home }: Surroundings,
): Promise<readonly [string, TrustedFile]> {
  const path = resolve(cwd, name)
  const { data, hash } = await read(path, displayPath(cwd, path))
  const keys = guardedKeys(data)
  if (keys.length === 0) throw usageError(`${name} sets nothing that needs trust`, 'It can be used as it is.')
  const [finding] = checkTrust(data, { file: name, userFile: userConfigFile({ env, home }), state: 'trusted' })
  if (finding !== undefined) throw issuesToError([withPlace(finding, { file: path })])
  return [realPath(path), { hash, keys, since }]
}

async function read(path: string, file: string): Promise<{ readonly data: JsonObject; readonly hash: string }> {
  const raw = readSourceFile(path)
  if (path.endsWith('.md')) {
    const document = await parsePrompt(file, raw)
    return { data: document.meta.data, hash: promptTrustHash(document) }
  }
  if (!path.endsWith('.toml')) {
    throw usageError(
      `${file} is neither a config file nor a prompt file`,
      'Name a baton.toml, a .baton/config.toml or a prompt file (.md).',
    )
  }
  const { data, text } = await readTomlFile(file, raw)
  return { data, hash: sha256(text) }
}

/** Also files that do not exist any more. */
function removeTrust({ files, json, level }: Flags<'trust'>, workplace: Workplace, io: CommandIo): number {
  if (files.length === 0) throw usageError('--remove needs files', 'baton trust lists them.')
  const { cwd, print } = workplace
  const store = trustFile(workplace)
  const trusted = new Map(readTrusted(store))
  let missing = 0
  for (const name of files) {
    const file = realPath(resolve(cwd, name))
    if (trusted.delete(file)) {
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
  for (const [file, { keys, hash, since }] of trusted) {
    const state = await stateOf(file, hash)
    print(
      { file, keys, since, state },
      () => `${harmlessName(displayPath(cwd, file))}: ${keys.join(', ')}${stateNotes[state]}\n`,
    )
  }
  if (trusted.size === 0) note('no file is trusted\n')
}

async function stateOf(path: string, hash: string): Promise<keyof typeof stateNotes> {
  try {
    return (await read(path, path)).hash === hash ? 'trusted' : 'changed'
  } catch (error) {
    return error instanceof BatonError && error.code === 'FILE_UNREADABLE' ? 'missing' : 'changed'
  }
}
