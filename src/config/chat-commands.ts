import { dirname, join } from 'node:path'
import { isFile, namesIn } from '../base/entries.ts'
import { isBatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { parsePrompt, placeOf } from '../prompt/document.ts'
import { isDefinitionName } from '../settings/agents.ts'
import {
  type Finding,
  type Issue,
  issuesOf,
  suggestionHint,
  mismatch,
  placeFindings,
  throwIssues,
  wrongKey,
} from '../settings/issue.ts'
import { type Surroundings, userConfigFile } from './locate.ts'

/** A chat command that a prompt file in a folder `commands/` defines. */
export interface ChatCommand {
  /** Without the slash. */
  readonly name: string
  /** Empty if the file has none. */
  readonly description: string
  /** The arguments to type after the name, for people; empty if the file has no hint. */
  readonly argumentHint: string
  /** What the model is asked, with `$ARGUMENTS` and `$1` to `$9` unreplaced. */
  readonly text: string
  readonly settings: ChatCommandSettings
  readonly from: ChatCommandOrigin
  /** Absolute. */
  readonly file: string
  /** The name of the file in messages. */
  readonly shown: string
}

/** Settings for the message of a command. Omitted: those of the chat. */
export interface ChatCommandSettings {
  readonly model?: string
  readonly mode?: string
  /** Names or patterns of tools. */
  readonly tools?: readonly string[]
}

type ChatCommandOrigin = 'pack' | 'user' | 'workspace'

export interface ChatCommandPlaces extends Surroundings {
  readonly workspace: string
  /** Strongest first. */
  readonly packs: readonly { readonly dir: string }[]
  /** Names that files cannot take. */
  readonly builtInNames: readonly string[]
  /** Stored texts are used, and every read is recorded. */
  readonly reads?: ReadLog | undefined
}

export interface ChatCommands {
  readonly byName: ReadonlyMap<string, ChatCommand>
  /** About files that are not valid commands. */
  readonly warnings: readonly Issue[]
}

interface CommandFile {
  readonly name: string
  readonly path: string
  readonly from: ChatCommandOrigin
  /** Links must not lead out of this folder. Omitted for the user's own files. */
  readonly within?: string
}

/**
 * The commands of packs, then of the user, then of the workspace; a later command replaces an earlier one of the same
 * name. An invalid file also removes the command it was to replace, because that one does something else.
 */
export async function collectChatCommands(places: ChatCommandPlaces): Promise<ChatCommands> {
  const byName = new Map<string, ChatCommand>()
  const warnings: Issue[] = []
  for (const file of commandFiles(places)) {
    if (places.builtInNames.includes(file.name)) {
      warnings.push(takesBuiltIn(file, places))
      continue
    }
    try {
      byName.set(file.name, await readCommand(file, places))
    } catch (error) {
      if (!isBatonError(error)) throw error
      byName.delete(file.name)
      warnings.push(...issuesOf(error))
    }
  }
  return { byName, warnings }
}

/** Weakest first. */
function commandFiles({ workspace, packs, ...around }: ChatCommandPlaces): readonly CommandFile[] {
  const ofUser = join(dirname(userConfigFile(around)), 'commands')
  const ofWorkspace = [join(workspace, 'commands'), join(workspace, '.baton', 'commands')]
  return [
    ...packs.toReversed().flatMap(({ dir }) => filesIn(join(dir, 'commands'), { from: 'pack', within: dir })),
    ...filesIn(ofUser, { from: 'user' }),
    ...ofWorkspace.flatMap((folder) => filesIn(folder, { from: 'workspace', within: workspace })),
  ]
}

function filesIn(folder: string, origin: Pick<CommandFile, 'from' | 'within'>): readonly CommandFile[] {
  return namesIn(folder)
    .filter((file) => file.endsWith('.md') && isDefinitionName(file.slice(0, -3)) && isFile(join(folder, file)))
    .toSorted()
    .map((file) => ({ ...origin, name: file.slice(0, -3), path: join(folder, file) }))
}

function takesBuiltIn({ name, path }: CommandFile, { cwd }: Pick<Surroundings, 'cwd'>): Issue {
  const file = displayPath(realPath(cwd), path)
  return {
    code: 'CONFIG_INVALID',
    message: `${file} is not used: /${name} is a built-in chat command`,
    hint: 'Rename the file.',
    place: { file },
  }
}

/** @throws BatonError with everything that is wrong with the file */
async function readCommand({ name, path, from, within }: CommandFile, places: ChatCommandPlaces): Promise<ChatCommand> {
  if (within !== undefined) refuseEscape(path, { within, ...places })
  const shown = displayPath(realPath(places.cwd), path)
  const document = await parsePrompt(shown, readSource(path, places.reads, { part: 'prompt' }))
  const { text, meta, instruction } = document
  throwIssues(await placeFindings(Object.entries(meta.data).flatMap(wrongWith), { file: shown, text, ...meta }))
  if (instruction === '') {
    const message = `${shown} is not a command: it has no text`
    const hint = 'Write the prompt below the front matter.'
    throwIssues([{ code: 'CONFIG_INVALID', message, hint, place: await placeOf(document, []) }])
  }
  const { description, argument_hint: argumentHint, model, mode, tools } = meta.data
  return {
    name,
    description: isText(description) ? description : '',
    argumentHint: isText(argumentHint) ? argumentHint : '',
    text: instruction,
    settings: {
      ...(isText(model) ? { model } : {}),
      ...(isText(mode) ? { mode } : {}),
      ...(areTexts(tools) ? { tools } : {}),
    },
    from,
    file: path,
    shown,
  }
}

const textKeys: readonly string[] = ['description', 'argument_hint', 'model', 'mode']
const keys: readonly string[] = [...textKeys, 'tools']

function wrongWith([key, value]: readonly [string, Json]): readonly Finding[] {
  if (!keys.includes(key)) {
    const hint = suggestionHint(key, keys, `Keys of commands: ${keys.join(', ')}.`)
    return [wrongKey([key], { message: `unknown key "${key}" in a command`, hint })]
  }
  if (key === 'tools') return areTexts(value) ? [] : [mismatch([key], 'a list of strings', value)]
  return isText(value) && value.trim() !== '' ? [] : [mismatch([key], 'non-empty text', value)]
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function areTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
