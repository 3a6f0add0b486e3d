import { compileGlobs } from '../base/glob.ts'
import { isBatonError, type SourcePlace } from '../base/error.ts'
import { type Issue, suggestionHint } from '../settings/issue.ts'
import { type PermissionRule, ruleKey } from '../config/permission-rules.ts'
import type { ToolSubject } from '../event/permission.ts'
import { toolRules } from '../tool/rule-list.ts'
import { subjectFrom } from '../tool/rule-subjects.ts'
import { isServerTool, ruledTools, serverTools, toolPattern } from '../tool/tool-filter.ts'
import { decidingRule } from '../tool/tool-rules.ts'
import { ownToolNames, subjectKind, toolNames } from '../tool/toolbox/rows.ts'

/** Each rule is compared with all others, so thousands would take minutes. */
const mostCompared = 300

/** Finds suspicious rules in files; each is a warning at its line. */
export function ruleProblems(all: readonly PermissionRule[], workspace: string): readonly Issue[] {
  const [written, beyond] = [all.slice(0, mostCompared), all[mostCompared]]
  const place = beyond && placeOf(beyond)
  const said = {
    message: `only the first ${mostCompared} rules of [permission] are compared with each other`,
    hint: 'All of them apply. Write fewer, more general ones.',
  }
  const left: readonly Issue[] = place === undefined ? [] : [{ code: 'CONFIG_INVALID', ...said, place }]
  return [...comparedProblems(written, workspace), ...left]
}

function comparedProblems(written: readonly PermissionRule[], workspace: string): readonly Issue[] {
  return written.flatMap((rule, index): readonly Issue[] => {
    const place = placeOf(rule)
    if (place === undefined) return []
    const said =
      unknownTool(rule) ??
      uselessPattern(rule, workspace) ??
      overruled(rule, written.slice(index + 1)) ??
      withoutEffect(rule, written.slice(0, index), workspace) ??
      opening(rule, written.slice(index + 1))
    return said === undefined ? [] : [{ code: 'CONFIG_INVALID', ...said, place }]
  })
}

/**
 * The same for the rules in `# Options` of an agent, which apply in addition to those of the run and so can only be
 * stricter than the defaults.
 */
export function agentRuleProblems(rules: readonly PermissionRule[], workspace: string): readonly Issue[] {
  const written = rules.map((rule) => ({ ...rule, tightens: agentsOwn }))
  return ruleProblems(written, workspace)
}

/** The source of the rules of an agent. */
const agentsOwn = '# Options'

type ProblemText = Pick<Issue, 'message' | 'hint'>

/** The origin of a rule of a file: `baton.toml:3`. */
function placeOf({ origin }: PermissionRule): SourcePlace | undefined {
  const [, file, line] = /^(?!-c )(.+):(\d+)$/.exec(origin) ?? []
  return file === undefined ? undefined : { file, line: Number(line) }
}

function shown(rule: PermissionRule): string {
  return `${ruleKey(rule)} = "${rule.effect}"`
}

function unknownTool({ tool }: PermissionRule): ProblemText | undefined {
  const known: readonly string[] = ownToolNames
  // tools of servers are known only after connecting to them
  if (isServerTool(tool) || tool === serverTools || known.some(toolPattern(tool))) return undefined
  const hint = suggestionHint(
    tool,
    known,
    `Tools are ${toolNames.join(', ')}; tools of servers are named server__tool.`,
  )
  return { message: `[permission] names a tool "${tool}", which does not exist`, hint }
}

function uselessPattern(rule: PermissionRule, workspace: string): ProblemText | undefined {
  const { tool, pattern } = rule
  if (tool === serverTools) return uselessName(rule)
  if (pattern === undefined || (tool.includes('*') && !isServerTool(tool))) return undefined
  const kind = subjectKind(tool)
  if (kind === undefined) {
    const hint = `Write ${tool} = "${rule.effect}" for all of its calls.`
    return { message: `${shown(rule)} matches nothing: ${tool} has no argument that patterns apply to`, hint }
  }
  try {
    decidingRule([rule], { tool, subject: subjectFrom(tool, 'x', workspace) }, workspace)
    return undefined
  } catch (error) {
    if (!isBatonError(error)) throw error
    return { message: `${ruleKey(rule)}: ${error.message}`, hint: error.hint ?? '' }
  }
}

/** Patterns for tools of servers match their names. */
function uselessName(rule: PermissionRule): ProblemText | undefined {
  const { pattern = '*', effect } = rule
  if (pattern.includes('*') || isServerTool(pattern)) return undefined
  const hint = `Write mcp."${pattern}__*" = "${effect}" for all tools of a server.`
  return { message: `${shown(rule)} matches nothing: tools of servers are named server__tool`, hint }
}

/** A later rule of the same file covers everything that this one covers. */
function overruled(rule: PermissionRule, later: readonly PermissionRule[]): ProblemText | undefined {
  const file = placeOf(rule)?.file
  const other = later.find((one) => placeOf(one)?.file === file && covers(one, rule))
  if (other === undefined) return undefined
  return {
    message: `${shown(rule)} never decides: ${shown(other)} (${other.origin}) comes later and matches the same calls`,
    hint: 'The last matching rule applies: put the general one first, or remove this one.',
  }
}

function covers(one: PermissionRule, other: PermissionRule): boolean {
  const [broad, narrow] = [ruledTools(one), ruledTools(other)]
  if (!toolPattern(broad.tool)(narrow.tool)) return false
  if (broad.pattern === undefined || broad.pattern === narrow.pattern) return true
  return narrow.pattern !== undefined && isBroader(broad.pattern, narrow.pattern, subjectKind(narrow.tool))
}

/** Conservative: false if unsure. */
function isBroader(broad: string, narrow: string, kind: ToolSubject['kind'] | undefined): boolean {
  if (kind === 'path') {
    if (/[{[!\\]/.test(broad + narrow) || (narrow.includes('**') && !broad.includes('**'))) return false
    return compileGlobs([broad]).matches(narrow)
  }
  if (kind === 'host') return broad === '*' || (/^\*\.[^*]+$/.test(broad) && narrow.endsWith(broad.slice(1)))
  return broad.endsWith('*') && !broad.slice(0, -1).includes('*') && narrow.startsWith(broad.slice(0, -1))
}

/** A rule of an untrusted file or an agent that is not stricter than those before it. */
function withoutEffect(
  rule: PermissionRule,
  before: readonly PermissionRule[],
  workspace: string,
): ProblemText | undefined {
  const { tool, pattern, tightens, effect } = rule
  if (tightens === undefined || effect === 'deny' || tool.includes('*')) return undefined
  const own = toolRules(before.filter((one) => one.tightens !== tightens))
  const subject = pattern === undefined ? undefined : subjectOf(tool, pattern, workspace)
  if (pattern !== undefined && subject === undefined) return undefined
  const about = { tool, ...(subject === undefined ? {} : { subject }) }
  const held = decidingRule(own, about, workspace)
  const all = decidingRule(toolRules(before), about, workspace)
  // the rule may be an exception from a stricter rule of the same file
  if (held === undefined || held !== all || decidingRule([...own, rule], about, workspace) === rule) return undefined
  if (tightens === agentsOwn) {
    return {
      message: `${shown(rule)} changes nothing: rules of an agent only tighten those of the run`,
      hint: 'Remove it, or put it after a stricter rule to which it is an exception. Your config file decides what the run allows.',
    }
  }
  return {
    message: `${shown(rule)} changes nothing: a file that is not trusted only tightens, and ${shown(held)} (${held.origin}) is already as strict`,
    hint: `Look at the file and run baton trust ${tightens}, or remove the rule.`,
  }
}

/** A rule that also allows what the defaults deny, which its author may not have intended. */
function opening(rule: PermissionRule, later: readonly PermissionRule[]): ProblemText | undefined {
  if (rule.effect === 'deny' || rule.tightens !== undefined) return undefined
  const closed = toolRules().filter(
    (one) => one.effect === 'deny' && covers(rule, one) && !later.some((other) => covers(other, one)),
  )
  const [first, ...others] = new Set(closed.map(({ pattern = '' }) => pattern))
  if (first === undefined) return undefined
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return {
    message: `${shown(rule)} also covers what is denied by default: ${first}${more} (baton config --origin shows all)`,
    hint: 'Write patterns for what you need, or deny the rest again after it, for example "**/.env*" = "deny".',
  }
}

function subjectOf(tool: string, pattern: string, workspace: string): ToolSubject | undefined {
  const kind = subjectKind(tool)
  if (kind === 'command') return { kind, line: pattern, commands: [{ texts: [{ text: pattern }] }] }
  if (kind === undefined || (kind === 'host' && pattern.includes('*'))) return undefined
  return subjectFrom(tool, pattern, workspace)
}
