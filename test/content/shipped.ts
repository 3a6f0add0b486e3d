import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Json, JsonObject } from '../../src/base/json.ts'
import type { FakeProvider } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

/** Files by path. */
export interface Tree {
  readonly [path: string]: string
}

/** What a shipped agent returns in this process for an input like that of the chain. */
export async function runShipped(
  name: string,
  {
    files = {},
    provider,
    ...input
  }: { readonly files?: Tree; readonly provider?: FakeProvider; readonly [key: string]: unknown },
): Promise<Json> {
  const { run, folder } = agentWorld({}, provider === undefined ? {} : { provider })
  write(folder, files)
  const prompt_cache_dir = join(folder, '.cache')
  const base = {
    coder_params: { context_globs: [] },
    coder_prompt: '',
    agent_config: { name },
    coder_workbench: { prompt_cache_dir },
  }
  const { afterAll, outputs } = await run(name, [{ ...base, ...(input as JsonObject) }])
  return afterAll ?? outputs[0] ?? null
}

export interface Asked {
  readonly model: string
  /** All messages, joined. */
  readonly text: string
}

export interface World {
  readonly folder: string
  /** What models were asked since the last call of this function. */
  readonly asked: () => readonly Asked[]
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  readonly read: (path: string) => string
  readonly write: (files: Tree) => void
  readonly git: (...args: readonly string[]) => string
}

/**
 * A folder with these files in which the built command runs, and a model server that answers as `answer` says. `env`
 * may name a different server; default: the gateway.
 */
export async function shippedWorld(
  files: Tree,
  answer: (asked: Asked) => string | ModelReply,
  env: (url: string) => Readonly<Record<string, string>> = (url) => ({ BATON_GATEWAY_URL: url }),
): Promise<World> {
  const folder = tempTree({ '.baton/config.toml': '', ...files })
  const asked: Asked[] = []
  const server = await startModelServer((request): ModelReply => {
    const { model = '', messages = [] } = request.body ?? {}
    const call = { model, text: messages.map(({ content }) => content).join('\n') }
    asked.push(call)
    const reply = answer(call)
    return typeof reply === 'string' ? { text: reply } : reply
  })
  onTestFinished(() => server.close())
  return {
    folder,
    asked: () => asked.splice(0),
    run: (...args) => baton(args, { cwd: folder, env: env(server.url) }),
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    write: (more) => write(folder, more),
    git: (...args) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example', ...args], {
        cwd: folder,
        encoding: 'utf8',
        stdio: 'pipe',
      }),
  }
}

function write(folder: string, files: Tree): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

/** A prompt file whose chain consists of these entries, in TOML. */
export function prompt(entries: readonly string[], front = ''): string {
  return `+++\nmodel = "small"\n${front}\nsub_agents = [\n${entries.map((entry) => `  ${entry},\n`).join('')}]\n+++\nSay what a token is.\n`
}
