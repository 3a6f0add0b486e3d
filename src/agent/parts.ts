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
import type { BatchDesk } from './batches.ts'
import type { CoolDown } from '../model/cool-down.ts'
import type { OwnPrices } from '../model/own-price.ts'
import type { PricedModel, PriceList } from '../model/prices.ts'
import type { SupportedFiles } from '../event/message.ts'
import type { Plugins } from './plugins/plugin.ts'
import type { ModelProvider, ModelRequest } from '../model/provider.ts'
import type { ModuleReader } from '../script/module-reader.ts'
import type { ScriptHost } from '../script/section.ts'

/** A model that was chosen by name, ready to be called. */
export interface ChosenModel {
  readonly provider: ModelProvider
  readonly model: string
  /** For users and events, for example `openai::gpt-5-mini`. */
  readonly label: string
  readonly reasoningEffort?: string
  /** Absent if unknown. */
  readonly taken?: SupportedFiles
  /** The key of its price. */
  readonly priced: PricedModel
  /** Warnings about settings that are not sent to the model; each setting once per run. */
  readonly unsent?: (request: ModelRequest) => readonly ModelWarning[]
  /** The warning that the server reports no usage, once per run; undefined: it was already given. */
  readonly usageWarning?: () => ModelWarning | undefined
}

interface ModelWarning {
  readonly message: string
  readonly hint: string
}

/** `isInstalled`: for an agent of a pack that came from an archive, git or a URL. */
export type LoadScripts = (agent: { readonly isInstalled: boolean }) => Promise<ScriptHost>

/** The dependencies of executors, provided by runner.ts so that tests can replace each. */
export interface AgentParts {
  /** Agent runs of earlier epochs of a resumed run: their numbers are taken. */
  readonly agentRunsBefore: number
  /** Loads the Lua engine at its first use. */
  readonly scripts: LoadScripts
  /** Undefined: the default model, see docs/models-and-keys.md "Which model answers". */
  readonly chooseModel: (name: string | undefined) => Promise<ChosenModel>
  /** The process-wide limit of concurrent model requests. */
  readonly modelPool: Pool
  /** How calls are retried, as in `callWithRetries`. */
  readonly retry: {
    readonly policy: RetryPolicy
    readonly patienceMs: number
    readonly outageMs: number
    /** The same for work that others can do without. Default: `outageMs`. */
    readonly spareOutageMs?: number
    readonly clock: Clock
    readonly leavesOverloads?: boolean
  }
  /** Sends calls in batches. Default: each call is made at once. */
  readonly batches?: (() => Promise<BatchDesk>) | undefined
  /** Models in cooldown after a failure. */
  readonly coolDown: CoolDown
  /** Loads the prices at their first use. */
  readonly prices: () => Promise<PriceList>
  /** The user's prices, for programs that report their models. Default: none. */
  readonly ownPrices?: OwnPrices
  /** Whether prices are needed before a call because there is a cost limit. */
  readonly limitsCost: () => boolean
  /** Loads the plug-ins at their first use. Default: none. */
  readonly plugins?: () => Promise<Plugins>
  /** In a resumed or replayed run: whether the version that recorded it had a tool of this name. */
  readonly isRecordedTool?: (name: string) => boolean
  /** The MCP servers for the agents of a pack, or for those of no pack. Default: those of the caller. */
  readonly serversOf?: (pack: OwningPack | undefined) => Promise<McpServers | undefined>
  readonly findAgent: (name: string, baseDir: string) => Promise<NamedFile>
  /** Logs what decides the rights of agents. If omitted, it is read from disk without logging. */
  readonly reads?: ReadLog
  /**
   * Whether the files of a pack differ from what was installed; true only once per pack. If omitted, packs are not
   * checked.
   */
  readonly isChangedPack?: (pack: PackInRoot) => Promise<boolean>
  /** Workspace globs: `[changes] allow` of the user, which lets packs change files that they otherwise may not. */
  readonly openedChanges?: readonly string[]
  /** Runs a prompt file below the place of `context`, once per input; provided by run/. */
  readonly runPromptFile: (request: PromptRequest<PromptAgent>, context: RunContext) => Promise<PromptResult>
  /**
   * Continues a conversation with the model of a prompt file; provided by run/. If omitted, prompt files can only be
   * run.
   */
  readonly converseWithFile?: (request: FileConversation, context: RunContext) => Promise<FileAnswer | undefined>
}

/** Additional dependencies of script agents, created once per run. */
export interface ScriptParts extends AgentParts {
  readonly findModule: ModuleReader
  /** Numbers the agent runs of a run, from 1. */
  readonly countRun: () => number
}
