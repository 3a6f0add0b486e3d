import { resolve } from 'node:path'
import { BatonError, isBatonError, rewordError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import { defined, isJsonObject, type Json } from '../../base/json.ts'
import { readSource } from '../../base/reads.ts'
import { conditionForms, summarizerName } from '../../settings/strategies/iterate.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import type { IterateSettings } from '../../settings/strategies/iterate.ts'
import { toolRules, writtenRules } from '../../tool/rule-list.ts'
import { closingRule, ruleText } from '../../tool/tool-rules.ts'
import { defaultAssessment } from './blocks.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { StrategyLoading } from '../../load/strategy.ts'
import type { ResolvedAgent } from '../../load/definitions.ts'

/** The iterate settings of a prompt file, with the contents of the files they name. */
export interface Iteration {
  readonly settings: IterateSettings
  /** Body of the assessment block; undefined: none. */
  readonly assessment: string | undefined
  readonly plan: string | undefined
  /** The agent that writes summaries; undefined: a model does, or no agent is needed. */
  readonly summarizer?: ResolvedAgent
}

/** The iteration of a file whose strategy it is. */
export function iterationOf({ strategy }: Pick<PromptTarget, 'strategy'>): Iteration {
  return strategy?.loaded as Iteration
}

/** Strategies that flags cannot combine with; files that combine them are refused when their keys are checked. */
const strategies = ['delegate', 'ensemble', 'workflow'] as const

/**
 * Reads the files that `[iterate]` names. For a file that is run as an agent only its own front matter counts, because
 * `--iter` is for the file that was started.
 * @throws BatonError CONFIG_INVALID together with another strategy, FILE_UNREADABLE, OUTSIDE_WORKSPACE
 */
export async function loadIteration(spec: RunSpec, options: StrategyLoading): Promise<Iteration | undefined> {
  const settings = spec.settings.iterate
  const { frontMatter } = spec
  if (settings === undefined && frontMatter['iterate'] !== undefined && !saysHowLong(frontMatter['iterate'])) {
    throw new BatonError('CONFIG_INVALID', '"iterate" needs a condition that ends it', {
      place: await placeInPrompt(spec, ['iterate'], 'key'),
      hint: `Add condition: ${conditionForms}; or until = "npm test", or score_goal.`,
    })
  }
  if (settings === undefined || (options.isAgent === true && frontMatter['iterate'] === undefined)) return undefined
  const isFlag = frontMatter['iterate'] === undefined
  const other = isFlag ? strategies.find((key) => frontMatter[key] !== undefined) : undefined
  if (other !== undefined) {
    throw new BatonError('CONFIG_INVALID', `--iter and [${other}] cannot be combined: a file has only one strategy`, {
      place: await placeInPrompt(spec, [other], 'key'),
      hint: 'Remove --iter and --until.',
    })
  }
  const { assessment, plan } = settings
  if (settings.score_goal !== undefined && settings.score === undefined) {
    throw new BatonError('CONFIG_INVALID', '"iterate.score_goal" needs "score", a command that prints the score', {
      place: await placeInPrompt(spec, ['iterate', 'score_goal'], 'key'),
      hint: 'Add score = "…", or remove score_goal.',
    })
  }
  await checkContext(settings, spec)
  const agent = summarizerName(settings)
  return {
    settings,
    ...defined({ summarizer: agent === undefined ? undefined : options.byName?.get(agent) }),
    assessment:
      typeof assessment === 'string'
        ? await read(assessment, 'assessment', spec, options)
        : assessment
          ? defaultAssessment
          : undefined,
    plan: plan === undefined ? undefined : await read(plan, 'plan', spec, options),
  }
}

/** Commits of iterations in a work tree. */
export async function iterateProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  const written = spec.frontMatter['iterate']
  const commits = isJsonObject(written) && written['commits'] === true
  if (!commits || spec.settings.isolation !== 'worktree') return []
  return [
    new BatonError('CONFIG_INVALID', '"iterate.commits" and isolation = "worktree" cannot be combined', {
      place: await placeInPrompt(spec, ['iterate', 'commits'], 'key'),
      hint: 'Remove commits and commit the changes after the run, or remove isolation.',
    }),
  ]
}

/** Refuses settings of the context that other settings would disable. */
async function checkContext({ context }: IterateSettings, spec: RunSpec): Promise<void> {
  const written = spec.frontMatter['iterate']
  const { plan, continuation } = isJsonObject(written) ? written : {}
  const place = (key: string): ReturnType<typeof placeInPrompt> => placeInPrompt(spec, ['iterate', key], 'key')
  if (plan !== undefined && !context) {
    throw new BatonError('CONFIG_INVALID', '"iterate.plan" is part of the context, which context = false disables', {
      place: await place('plan'),
      hint: 'Remove one of them, or name the file in context_globs.',
    })
  }
  if (typeof continuation === 'string' && continuation !== '' && context) {
    throw new BatonError('CONFIG_INVALID', '"iterate.continuation" replaces the context, and needs context = false', {
      place: await place('continuation'),
      hint: 'Add context = false, or remove continuation.',
    })
  }
}

/** True even if the value is invalid, which is a different error. */
function saysHowLong(written: Json): boolean {
  return isJsonObject(written) && ['condition', 'until', 'score_goal'].some((key) => written[key] !== undefined)
}

/** Reads a file relative to the prompt file, and trims it. */
async function read(
  name: string,
  key: 'assessment' | 'plan',
  spec: RunSpec,
  { reads }: StrategyLoading,
): Promise<string> {
  const file = resolve(spec.promptDir, name)
  const place = (): ReturnType<typeof placeInPrompt> => placeInPrompt(spec, ['iterate', key], 'value')
  if (!isInside(spec.workspace, realPath(file))) {
    throw new BatonError('OUTSIDE_WORKSPACE', `"iterate.${key}" names ${name}, which is outside the workspace`, {
      place: await place(),
      hint: 'Name a file inside the workspace.',
    })
  }
  const rule = closingRule([toolRules(writtenRules(spec.settings))], realPath(file), {
    workspace: spec.workspace,
    keys: true,
  })
  if (rule !== undefined) {
    throw new BatonError(
      'UNTRUSTED',
      `"iterate.${key}" names ${name}, which may not be read: ${ruleText(rule)} (${rule.origin})`,
      {
        place: await place(),
        hint: 'Its text would be sent to the model: name another file.',
      },
    )
  }
  try {
    return readSource(file, reads).trim()
  } catch (error) {
    if (!isBatonError(error)) throw error
    throw rewordError(error, { from: await place() })
  }
}
