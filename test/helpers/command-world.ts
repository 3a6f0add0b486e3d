import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { askCommand, type CommandAnswer, type CommandQuestion } from '../../src/agent/command/ask.ts'
import type { CommandAgent, CommandLine } from '../../src/event/agent.ts'
import { allRights } from '../../src/event/permission.ts'
import { type SandboxMode, strictestSandbox } from '../../src/event/sandbox-rights.ts'
import type { OwnPrices } from '../../src/model/own-price.ts'
import { loadPrices } from '../../src/model/prices.ts'
import { testContext, type TestContext, type TestContextOptions } from './context.ts'
import { placeAt } from './effects.ts'
import { tempTree } from './temp.ts'

/** The program used by tests. */
export const program = join(import.meta.dirname, 'command-line.mjs')

/** A recorded stream of a real command line. */
export function stream(name: string): string {
  return join(import.meta.dirname, '../fixtures/command', `${name}.jsonl`)
}

/** An agent whose program is given by its first arguments. */
export function commandAgent(args: readonly string[], line: Partial<CommandLine> = {}): CommandAgent {
  const whole: CommandLine = { command: process.execPath, args: [program, ...args], env: {}, stdinOver: 1024, ...line }
  return { kind: 'command', name: 'helper', file: '/project/baton.toml', text: JSON.stringify(whole), line: whole }
}

export interface CommandWorld {
  readonly folder: string
  readonly context: TestContext
  readonly ask: (question: Omit<CommandQuestion, 'prompt'> & { readonly prompt?: string }) => Promise<CommandAnswer>
}

/** A workspace in which programs of agents really run, with a journal in memory. */
export function commandWorld({
  mode = 'danger-full-access',
  env = process.env,
  ownPrices = {},
  ...options
}: TestContextOptions & {
  readonly mode?: SandboxMode
  readonly env?: NodeJS.ProcessEnv
  readonly ownPrices?: OwnPrices
} = {}): CommandWorld {
  const folder = tempTree({})
  const rights = { ...allRights, sandbox: { ...strictestSandbox, mode } }
  const context = testContext({
    workspace: folder,
    ...options,
    scope: { at: placeAt('task/0/ask'), rights, ...options.scope },
    services: { env, ...options.services },
  })
  const parts = { prices: () => loadPrices(), limitsCost: () => false, ownPrices }
  return { folder, context, ask: (question) => askCommand({ prompt: 'What is here?', ...question }, context, parts) }
}

/** A program that prints a recorded stream, whatever its arguments are. */
export function playing(file: string, code = 0): string {
  const folder = tempTree({ play: `#!/bin/sh\ncat >/dev/null\ncat '${file}'\nexit ${code}\n` })
  chmodSync(join(folder, 'play'), 0o755)
  return join(folder, 'play')
}
