import type { Pool } from '../base/concurrency.ts'
import type { ReadLog } from '../base/reads.ts'
import type { PromptAgent, PromptRequest, PromptResult } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import type { McpServers } from '../event/mcp.ts'
import type { OwningPack } from '../pack/granted.ts'
import type { FileAnswer, FileConversation } from '../event/sub-agents.ts'
import type { PackInRoot } from '../pack/pack-status.ts'
import type { NamedFile } from '../pack/resolve.ts'
import type { Clock } from '../base/clock.ts'
import type { RetryPolicy } from '../base/retry.ts'
import type { CoolDown } from '../model/cool-down.ts'
import type { OwnPrices } from '../model/own-price.ts'
import type { PricedModel, PriceList } from '../model/prices.ts'
import type { TakenFiles } from '../event/message.ts'
import type { Plugins } from './plugins/plugin.ts'
import type { ModelProvider, ModelRequest } from '../model/provider.ts'
import type { ModuleReader } from '../script/module-reader.ts'
import type { ScriptHost } from '../script/section.ts'

/** A model that was chosen by name, ready to be called. */
export interface ChosenModel {
  readonly provider: ModelProvider
  readonly model: string
  /** For people and events, for example `openai::gpt-5-mini`. */
  readonly label: string
  readonly reasoningEffort?: string
  /** Left out: nobody knows. */
  readonly taken?: TakenFiles
  /** What its price is looked up by. */
  readonly priced: PricedModel
  /** What a person should know of settings that the model is not sent; each setting once per run. */
  readonly unsent?: (request: ModelRequest) => readonly SettingWarning[]
}

interface SettingWarning {
  readonly message: string
  readonly hint: string
}

/** `isInstalled`: for an agent of a pack that came from an archive, git or a URL. */
export type LoadScripts = (agent: { readonly isInstalled: boolean }) => Promise<ScriptHost>

/** What executors are made of: handed down by runner.ts, so that each can be tested with fakes. */
export interface AgentParts {
  /** Agent runs of older epochs of a resumed run: their numbers are taken. */
  readonly agentRunsBefore: number
  /** Loads the Lua engine at its first use. */
  readonly scripts: LoadScripts
  /** Undefined asks for the default of docs/models-and-keys.md "Which model answers". */
  readonly chooseModel: (name: string | undefined) => Promise<ChosenModel>
  /** Process-wide places for model requests. */
  readonly modelPool: Pool
  /** How calls are tried again. */
  readonly retry: {
    readonly policy: RetryPolicy
    readonly patienceMs: number
    readonly clock: Clock
    /** As in `callWithRetries`. */
    readonly leavesOverloads?: boolean
  }
  /** Models that failed a short while ago. */
  readonly coolDown: CoolDown
  /** Loads the prices at their first use. */
  readonly prices: () => Promise<PriceList>
  /** What the user says models cost, for programs that tell their models; left out: nothing. */
  readonly ownPrices?: OwnPrices
  /** Whether prices are needed before a call, because what it may cost is limited. */
  readonly limitsCost: () => boolean
  /** Loads the plug-ins at their first use; left out: there are none. */
  readonly plugins?: () => Promise<Plugins>
  /** The MCP servers that the agents of a pack have, and those of none; left out: those of whoever runs them. */
  readonly serversOf?: (pack: OwningPack | undefined) => Promise<McpServers | undefined>
  readonly findAgent: (name: string, baseDir: string) => Promise<NamedFile>
  /** Told what says which rights agents have. Left out: it is read from the disk, and nobody is told. */
  readonly reads?: ReadLog
  /** Whether a pack is not what was installed; true once for each. Left out: nobody is told. */
  readonly isChangedPack?: (pack: PackInRoot) => Promise<boolean>
  /** Globs from the workspace: `[changes] allow` of the user, which opens what packs are kept from. */
  readonly openedChanges?: readonly string[]
  /** Runs a prompt file below the place of `context`, once for each input; made by run/. */
  readonly runPromptFile: (request: PromptRequest<PromptAgent>, context: RunContext) => Promise<PromptResult>
  /** Asks the model of a prompt file with the messages of a caller; made by run/. Left out: prompt files are only run. */
  readonly converseWithFile?: (request: FileConversation, context: RunContext) => Promise<FileAnswer | undefined>
}

/** What script agents need besides: made once for each run. */
export interface ScriptParts extends AgentParts {
  readonly findModule: ModuleReader
  /** Gives each agent run of a run its number, from 1. */
  readonly countRun: () => number
}
