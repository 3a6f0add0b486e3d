import { BatonError } from './base/error.ts'
import { displayPath } from './base/files.ts'
import type { Settings } from './config/settings.ts'
import { readOwnOptions } from './agent/own-options.ts'
import { issueText } from './config/issue.ts'
import type { AgentFile } from './pack/resolve.ts'
import { type AipDocument, parseAip } from './prompt/aip.ts'
import { loadTemplates } from './prompt/template.ts'
import { createScriptLoader } from './script-loader.ts'
import { LuaError, type LuaEngine } from './script/engine.ts'

/** Compiles every section of these agents without running it, and reads their options: all errors, in file order. */
export async function checkScripts(
  agents: readonly AgentFile[],
  lua: Settings['lua'],
  workspace: string,
): Promise<readonly BatonError[]> {
  if (agents.every(({ kind }) => kind === 'prompt')) return []
  const { engine, limits } = await createScriptLoader(lua)()
  const errors: BatonError[] = []
  for (const agent of agents.filter(({ kind }) => kind !== 'prompt')) {
    for (const code of await sectionsOf(agent, errors)) {
      const error = await compile({ agent, code, name: displayPath(workspace, agent.file) }, { engine, limits })
      if (error !== undefined) errors.push(error)
    }
  }
  return errors
}

async function sectionsOf(agent: AgentFile, errors: BatonError[]): Promise<readonly string[]> {
  if (agent.kind === 'lua') return [agent.text]
  const document = parseAip(agent.file, agent.text)
  const { beforeAll, data, output, afterAll } = document
  try {
    const { issues } = await readOwnOptions(agent, document)
    errors.push(...issues.map(({ code, message, ...details }) => new BatonError(code, message, details)))
    await checkTemplates(agent, document)
  } catch (error) {
    if (!(error instanceof BatonError)) throw error
    errors.push(error)
  }
  return [beforeAll, data, output, afterAll].flatMap((block) => block?.text ?? [])
}

async function checkTemplates({ file, text }: AgentFile, { parts }: AipDocument): Promise<void> {
  if (parts.length === 0) return
  const { check } = await loadTemplates()
  for (const { content, optionText, line } of parts) {
    if (optionText !== undefined) check(optionText, { file, text, line })
    check(content, { file, text, line: line + 1 })
  }
}

/** Warnings about agents that are right: options that nothing reads. */
export async function scriptWarnings(agents: readonly AgentFile[]): Promise<readonly string[]> {
  const unknown = await Promise.all(
    agents
      .filter(({ kind }) => kind === 'aip')
      .map(async (agent) => (await readOwnOptions(agent, parseAip(agent.file, agent.text))).unknown),
  )
  return unknown.flat().map(issueText)
}

interface Compilation {
  readonly agent: AgentFile
  readonly code: string
  readonly name: string
}

async function compile(
  { agent, code, name }: Compilation,
  {
    engine,
    limits,
  }: { readonly engine: LuaEngine; readonly limits: Parameters<LuaEngine['createState']>[0]['limits'] },
): Promise<BatonError | undefined> {
  const state = engine.createState({ functions: [], modules: [], limits, seed: () => 0 })
  try {
    // the whole chunk is compiled, and returns before its first statement
    await state.run({ name, text: `do return end ${code}` }, {}, new AbortController().signal)
    return undefined
  } catch (error) {
    if (!(error instanceof LuaError)) throw error
    const line = error.line === undefined ? {} : { line: error.line, text: agent.text }
    return new BatonError('SCRIPT_FAILED', error.message, { place: { file: agent.file, ...line }, cause: error })
  } finally {
    state.close()
  }
}
