import { dirname, join } from 'node:path'
import { isFile, namesIn } from '../base/entries.ts'
import { isBatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { Json } from '../base/json.ts'
import { refuseLeadingOut } from '../base/leaving.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import { parsePrompt, placeOf } from '../prompt/document.ts'
import { isDefinitionName } from './agent-tables.ts'
import {
  type Finding,
  type Issue,
  issuesOf,
  meantHint,
  mismatch,
  placeFindings,
  throwIssues,
  wrongKey,
} from './issue.ts'
import { type Surroundings, userConfigFile } from './locate.ts'

/** A command of a chat that a prompt file in a folder `commands/` brings. */
export interface ChatCommand {
  /** Without the slash. */
  readonly name: string
  /** Empty: the file has none. */
  readonly description: string
  /** What is to stand behind the name, for people; empty: the file does not say. */
  readonly argumentHint: string
  /** What the model is asked, with `$ARGUMENTS` and `$1` to `$9` as they are written. */
  readonly text: string
  readonly settings: ChatCommandSettings
  readonly from: ChatCommandOrigin
  /** Absolute. */
  readonly file: string
  /** As messages name it. */
  readonly shown: string
}

/** What the message of a command is run with. Left out: as other messages of the chat. */
export interface ChatCommandSettings {
  readonly model?: string
  readonly mode?: string
  /** Names of tools, or patterns of them. */
  readonly tools?: readonly string[]
}

type ChatCommandOrigin = 'pack' | 'user' | 'workspace'

export interface ChatCommandPlaces extends Surroundings {
  readonly workspace: string
  /** The best first. */
  readonly packs: readonly { readonly dir: string }[]
  /** Names that no file can take. */
  readonly builtInNames: readonly string[]
  /** Stored texts are used, and what is read is noted. */
  readonly reads?: ReadLog | undefined
}

export interface ChatCommands {
  readonly byName: ReadonlyMap<string, ChatCommand>
  /** Of files that are no commands, and why. */
  readonly warnings: readonly Issue[]
}

interface CommandFile {
  readonly name: string
  readonly path: string
  readonly from: ChatCommandOrigin
  /** No link may lead out of it. Left out for the user's own. */
  readonly within?: string
}

/**
 * The commands of packs, then those of the user, then those of the workspace; one of the same name replaces those before it.
 * A file that is wrong takes its name all the same: the command that it was to replace does something else.
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

/** The weakest first. */
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
    message: `${file} is not used: /${name} is a command of every chat`,
    hint: 'Give the file another name.',
    place: { file },
  }
}

/** @throws BatonError with all that is wrong with the file */
async function readCommand({ name, path, from, within }: CommandFile, places: ChatCommandPlaces): Promise<ChatCommand> {
  if (within !== undefined) refuseLeadingOut(path, { within, ...places })
  const shown = displayPath(realPath(places.cwd), path)
  const document = await parsePrompt(shown, readSource(path, places.reads, { part: 'prompt' }))
  const { text, meta, instruction } = document
  throwIssues(await placeFindings(Object.entries(meta.data).flatMap(wrongWith), { file: shown, text, ...meta }))
  if (instruction === '') {
    const message = `${shown} is no command: it has no text`
    const hint = 'Write what the model is asked below the front matter.'
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
    const hint = meantHint(key, keys, `Keys of commands: ${keys.join(', ')}.`)
    return [wrongKey([key], { message: `unknown key "${key}" of a command`, hint })]
  }
  if (key === 'tools') return areTexts(value) ? [] : [mismatch([key], 'a list of texts', value)]
  return isText(value) && value.trim() !== '' ? [] : [mismatch([key], 'text that is not empty', value)]
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function areTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
