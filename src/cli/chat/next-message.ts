import { join, sep } from 'node:path'
import { type BatonError, isBatonError, rewordError } from '../../base/error.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { loadRunSpec, type RunSpec } from '../../config/run-spec.ts'
import { adviceOnUncertain } from '../../journal/uncertain.ts'
import { checkMode } from '../../load/check-mode.ts'
import { type ModelInForce, modelInForce } from '../../load/model-in-force.ts'
import { promptFileOf } from '../../load/target.ts'
import { packageRoot } from '../../package-root.ts'
import { formatCost } from '../../render/format.ts'
import type { Paint } from '../../render/style.ts'
import type { Session } from './session.ts'

/*
 * What the next message of a chat would be answered with: its settings, its mode and its model.
 */

/** @throws BatonError for the first problem of the prompt file, the config or the settings of the chat */
async function nextSpec({ chat, around }: Session, changed: { readonly overrides?: readonly string[] } = {}) {
  const { file, overrides, model } = chat.settings()
  const builtInDir = join(packageRoot(), 'agents')
  const flags = { overrides: [...overrides, ...(changed.overrides ?? [])], ...(model === undefined ? {} : { model }) }
  const source =
    file === undefined ? { file: 'chat', text: '' } : { file: promptFileOf(file, { ...around, builtInDir }) }
  return loadRunSpec({ ...around, ...source, flags })
}

/** Refuses a mode (a setting as `-c` takes it) that the next message would refuse. @throws BatonError USAGE */
export async function refuseMode(setting: string, session: Session): Promise<void> {
  await refused(async () => checkMode(await nextSpec(session, { overrides: [setting] })))
}

/**
 * The model that a name stands for, or the one of the next message.
 * @throws BatonError USAGE if there is none
 */
export async function modelNamed(name: string | undefined, session: Session): Promise<ModelInForce> {
  return refused(async () => {
    const { settings } = await nextSpec(session)
    return chosenModel(name ?? settings.model, { settings }, session)
  })
}

async function refused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isBatonError(error) ? inChat(rewordError(error, { code: 'USAGE' })) : error
  }
}

function chosenModel(
  name: string | undefined,
  { settings }: Pick<RunSpec, 'settings'>,
  { around: { env }, io: { signal }, isTerminal }: Session,
): Promise<ModelInForce> {
  const tableFile = join(packageRoot(), 'agents', 'models.toml')
  return modelInForce(name, settings, { tableFile, env, signal, isAttended: isTerminal })
}

/** An error whose hint names `-m`, or says how to resume, for somebody who is in a chat already. */
export function inChat(error: BatonError): BatonError {
  const { hint } = error
  const said = hint
    ?.replaceAll(/(?<![\w-])-m (?=\S+::)/g, '/model ')
    .replaceAll(/(?<![\w-])-m(?: NAME)?(?![\w-])/g, '/model NAME')
    .replace(
      adviceOnUncertain,
      'Check, then end the chat and continue it with one of these for each (baton chat --continue --uncertain …).\nOr go on: the model is told that the call was interrupted.',
    )
  return said === hint || said === undefined ? error : rewordError(error, { hint: said })
}

/**
 * What the next message is answered with, in one line: model, mode, folder, servers, and what the chat has cost. If there
 * is no model, a second line says so.
 */
export async function headerLines(session: Session, paint: Paint): Promise<readonly string[]> {
  const { around, chat } = session
  const runs = (await chat.messages()).map(({ summary }) => summary)
  const cost = formatCost(runs.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0))
  const folder = harmlessName(shortPath(around.cwd, around.home))
  const end = [folder, ...(cost === '' ? [] : [`${cost} so far`])]
  const line = (parts: readonly string[]): string => parts.join(' · ')
  const problem = (text: string): string => `${paint('yellow', text)}; /model NAME chooses one`
  let spec: RunSpec
  try {
    spec = await nextSpec(session)
  } catch (error) {
    if (!isBatonError(error)) throw error
    // the first message says it in full
    return [line([paint('yellow', harmlessName(error.message)), ...end])]
  }
  const { mode = 'classic', mcp_servers: tables = {}, model } = spec.settings
  const servers = Object.entries(tables).flatMap(([name, table]) => (table?.enabled === false ? [] : [name]))
  const parts = [
    `mode ${harmlessName(mode)}`,
    end[0] ?? '',
    ...(servers.length === 0 ? [] : [`servers: ${servers.map(harmlessName).join(', ')}`]),
    ...end.slice(1),
  ]
  try {
    const { label, isOffline, isFallback } = await chosenModel(model, spec, session)
    const name = isOffline ? label : label.replace(/^([^:]+)::(.*)$/, '$2 ($1)')
    return [
      line([paint('bold', harmlessName(name)), ...parts]),
      ...(isFallback ? [problem('no model is configured: answers only quote the given files')] : []),
    ]
  } catch (error) {
    if (!isBatonError(error)) throw error
    return [line(parts), problem(harmlessName(error.message))]
  }
}

function shortPath(path: string, home: string): string {
  return path === home || path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path
}
