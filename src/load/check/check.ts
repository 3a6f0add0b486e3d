import { resolve } from 'node:path'
import type { SourcePlace } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import type { Settings } from '../../config/settings.ts'
import type { MaskOptions } from '../../journal/secrets.ts'
import { secretsOf } from '../../model/choice.ts'
import type { TargetOptions } from '../options.ts'
import { loadTarget, targetKind } from '../target.ts'
import { checkAgent, type CheckParts, type SharedParts, surroundingsOf } from './checker.ts'
import { type Problem, problemOf, problemsOfError, sortProblems } from './problem.ts'
import { checkPromptFile } from './prompt.ts'

export { type CheckParts, createCheckParts } from './checker.ts'
export { type Problem, problemKey } from './problem.ts'

export interface CheckedFile {
  readonly problems: readonly Problem[]
  readonly secrets: MaskOptions
}

/**
 * All problems of a file and of what it names, found without running anything or calling a model. Errors would end a
 * run; warnings might affect one.
 */
export async function checkFile(given: TargetOptions, parts: CheckParts): Promise<CheckedFile> {
  const options = { ...given, collected: parts.collected }
  const { cwd, file, env } = options
  const found: { settings?: Settings } = {}
  const shared: SharedParts = {
    parts,
    seen: new Set(),
    onSettings(settings) {
      found.settings = settings
    },
  }
  const problems =
    targetKind(file, options) === 'agent'
      ? await checkAgentTarget(options, shared)
      : await checkPromptFile({ ...options, file: resolve(cwd, file) }, shared)
  const shown = problems.map((problem) => relativeTo(cwd, problem))
  // a file that cannot be read has no settings
  const secrets = found.settings === undefined ? {} : await secretsOf(found.settings, env)
  return { problems: sortProblems(shown, displayPath(cwd, resolve(cwd, file))), secrets }
}

async function checkAgentTarget(options: TargetOptions, shared: SharedParts): Promise<readonly Problem[]> {
  const { file } = options
  try {
    const target = await loadTarget(options)
    // packs may contain prompt files, too
    if (target.kind === 'prompt') {
      const { source, document } = target.spec
      const isMade = source === 'text' && target.answerAgent?.kind === 'command'
      const { file: named } = target.spec
      return await checkPromptFile({ ...options, file: named, ...(isMade ? { text: document.text } : {}) }, shared)
    }
    const { agent, notes, workspace, settings, definitions } = target
    shared.onSettings(settings)
    const around = surroundingsOf(shared, {
      options,
      workspace,
      settings,
      definitions,
      callers: [],
      checkPrompt: (prompt, seen) => checkPromptFile(prompt, { ...shared, seen }),
    })
    const warnings = notes.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] }))
    return [...warnings, ...(await checkAgent({ agent, trail: [] }, around))]
  } catch (error) {
    return problemsOfError(error, { file, trail: [] })
  }
}

/** Files below the current folder are named relative to it. */
function relativeTo(cwd: string, problem: Problem): Problem {
  const named = (place: SourcePlace): SourcePlace => ({ ...place, file: displayPath(cwd, resolve(cwd, place.file)) })
  return { ...problem, place: named(problem.place), trail: problem.trail.map(named) }
}
