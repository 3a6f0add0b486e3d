import { basename, extname } from 'node:path'
import { canonicalJson, type JsonObject } from '../../base/json.ts'
import type { Ensemble, EnsembleMember } from '../../config/ensemble.ts'
import { settingsFor } from '../../config/run-spec.ts'
import type { Settings } from '../../config/settings.ts'
import type { ChainState } from '../../stage/state.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { FoundAgent } from '../../load/definitions.ts'

type MemberKind = 'model' | 'agent' | 'command'

/** A member ready to run: the file as if it had no ensemble and only this member answered. */
export interface PreparedMember extends Pick<EnsembleMember, 'name' | 'index'> {
  /** `{file}-ensemble-{name}` (R267). */
  readonly id: string
  readonly kind: MemberKind
  readonly target: PromptTarget
}

/** Whether `[output]` applies to the members; else it applies to the one that combines their answers. */
function answersInForm({ aggregate, isolation }: Ensemble): boolean {
  return aggregate === 'vote' || aggregate === 'first' || isolation === 'worktree'
}

/**
 * The members of an ensemble, in the order in which they are listed.
 * @throws BatonError AGENT_NOT_FOUND
 */
export function prepareMembers(ensemble: Ensemble, target: PromptTarget): Promise<readonly PreparedMember[]> {
  const { file } = target.spec
  const spec = basename(file, extname(file))
  return Promise.all(
    ensemble.members.map(async (member) => {
      const { name, index, model } = member
      const agent = await agentOf(member, target)
      return {
        name,
        index,
        id: `${spec}-ensemble-${name}`,
        kind: kindOf(member),
        target: {
          ...alone(target, agent === undefined ? model : undefined),
          answerAgent: agent,
          answerOptions: model === undefined ? {} : { model },
          output: answersInForm(ensemble) ? target.output : undefined,
        },
      }
    }),
  )
}

/** The file as if only the aggregator, or the model of the synthesis, answered, and it had no ensemble. */
export async function aggregateTarget(
  { aggregator: name, model }: Ensemble,
  target: PromptTarget,
): Promise<PromptTarget> {
  const answerAgent = name === undefined ? undefined : ((await target.findAgent({ name })) as FoundAgent)
  return { ...withoutTeam(alone(target, model)), answerAgent, answerOptions: {} }
}

/** Combining answers, or choosing one, starts no agents: only members do. */
function withoutTeam(target: PromptTarget): PromptTarget {
  const without = (settings: Settings): Settings => {
    const { collab: _, ...others } = settings
    return others
  }
  return { ...target, settings: without(target.settings), settingsFor: (params) => without(target.settingsFor(params)) }
}

function kindOf({ agent, line }: EnsembleMember): MemberKind {
  if (line !== undefined) return 'command'
  return agent === undefined ? 'model' : 'agent'
}

async function agentOf(
  { name, agent, line }: EnsembleMember,
  { findAgent, spec }: PromptTarget,
): Promise<FoundAgent | undefined> {
  if (agent !== undefined) return (await findAgent({ name: agent })) as FoundAgent
  if (line === undefined) return undefined
  const text = canonicalJson(line as unknown as JsonObject)
  return { kind: 'command', name, file: spec.file, text, line, builtIn: false }
}

/**
 * The file as if it had no ensemble. `model` takes precedence over that of the file and over flags; default: those
 * decide.
 */
function alone(target: PromptTarget, model: string | undefined): PromptTarget {
  const { spec } = target
  const named = { origin: spec.layers.own.origin, values: model === undefined ? {} : { model } }
  const layers = { ...spec.layers, above: [...spec.layers.above, named] }
  const settingsOf = settingsFor({ ...spec, layers })
  const known = new WeakMap<JsonObject, Settings>()
  const settingsAlone = (params: JsonObject): Settings => {
    const { ensemble: _, ...settings } = known.get(params) ?? settingsOf(params)
    known.set(params, settings)
    return settings
  }
  return { ...target, settings: settingsAlone(spec.params), settingsFor: settingsAlone }
}

/** The front matter after the chain, without the ensemble, which members do not see. */
export function withoutEnsemble({ params, prompts }: ChainState): ChainState {
  const { ensemble: _, ...others } = params
  return { params: others, prompts }
}
