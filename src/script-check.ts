import { BatonError } from './base/error.ts'
import { displayPath } from './base/files.ts'
import type { Settings } from './config/settings.ts'
import type { AgentFile } from './pack/resolve.ts'
import { parseAip } from './prompt/aip.ts'
import { readTable } from './prompt/options.ts'
import { createScriptLoader } from './script-loader.ts'
import { LuaError, type LuaEngine } from './script/engine.ts'

/** Compiles every section of these agents without running it, and reads their options: all errors, in file order. */
export async function checkScripts(
  agents: readonly AgentFile[],
  lua: Settings['lua'],
  workspace: string,
): Promise<readonly BatonError[]> {
  if (agents.length === 0) return []
  const { engine, limits } = await createScriptLoader(lua)()
  const errors: BatonError[] = []
  for (const agent of agents) {
    for (const code of await sectionsOf(agent, errors)) {
      const error = await compile({ agent, code, name: displayPath(workspace, agent.file) }, { engine, limits })
      if (error !== undefined) errors.push(error)
    }
  }
  return errors
}

async function sectionsOf(agent: AgentFile, errors: BatonError[]): Promise<readonly string[]> {
  if (agent.kind === 'lua') return [agent.text]
  const { options, beforeAll, data, output, afterAll } = parseAip(agent.file, agent.text)
  try {
    if (options !== undefined) await readTable(agent.file, agent.text, options)
  } catch (error) {
    if (!(error instanceof BatonError)) throw error
    errors.push(error)
  }
  return [beforeAll, data, output, afterAll].flatMap((block) => block?.text ?? [])
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
