import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { OriginRow } from '../config/layers.ts'
import { type PermissionRule, ruleKey } from '../config/permission-rules.ts'
import type { Settings } from '../config/settings.ts'
import type { ToolRule, ToolSubject } from '../event/permission.ts'
import { toolRules, writtenRules } from '../tool/rule-list.ts'
import { serverTools } from '../tool/tool-filter.ts'

type Rules = Pick<Settings, 'permission' | 'auto_approve_plan_mode'>

/**
 * The configured rules for tool calls, as `baton config` shows them, in their order: the last matching one decides. The
 * default rules are too many to be useful there; docs/tools.md lists them.
 */
export function ruleRows(settings: Rules): readonly OriginRow[] {
  return writtenRules(settings).map(rowOf)
}

function rowOf(rule: PermissionRule): OriginRow {
  return { key: ruleKey(rule), value: rule.effect, origin: originOf(rule) }
}

function originOf({ origin, tightens, effect }: PermissionRule): string {
  return tightens !== undefined && effect !== 'deny' ? `${origin}, only where it is stricter` : origin
}

/** The rule that decides about a call; of a command line, the rule for each of its commands. */
export interface JudgedCall {
  readonly tool: string
  readonly verdict: ToolRule['effect']
  /** Why no pattern allows a command line. */
  readonly doubt?: string
  readonly parts: readonly { readonly about: string; readonly rule: OriginRow }[]
}

/**
 * Judges a call as a user writes it: the name of a tool, then after a space its subject.
 * @throws BatonError USAGE for an empty text, and for an invalid host
 */
export async function judgeCall(
  asked: string,
  { settings, workspace }: { readonly settings: Rules; readonly workspace: string },
): Promise<JudgedCall> {
  const [, first, rest = ''] = /^\s*(\S+)(?:\s+([^]*\S))?\s*$/.exec(asked) ?? []
  // rules for tools of servers consider only their names
  const [tool, text] = first === serverTools && rest !== '' ? [rest, ''] : [first, rest]
  if (tool === undefined) throw unusable('--permission needs the name of a tool')
  const [{ decidingRule }, subjects] = await Promise.all([
    import('../tool/tool-rules.ts'),
    import('../tool/rule-subjects.ts'),
  ])
  const rules = toolRules(writtenRules(settings))
  const subject = text === '' ? undefined : subjectOf(() => subjects.subjectFrom(tool, text, workspace), text)
  const pieces: readonly (readonly [about: string, subject: ToolSubject | undefined])[] =
    subject?.kind === 'command' ? commandsOf(subject) : [[text, subject]]
  const parts = pieces.map(([about, piece]) => {
    const rule = decidingRule(rules, { tool, ...(piece === undefined ? {} : { subject: piece }) }, workspace)
    return { about, rule: rule ?? { tool, effect: 'ask', origin: 'default' } } as const
  })
  const verdict = (['deny', 'ask', 'allow'] as const).find((effect) => parts.some(({ rule }) => rule.effect === effect))
  const doubt = subject?.kind === 'command' ? subject.doubt : undefined
  return {
    tool,
    verdict: verdict ?? 'ask',
    ...(doubt === undefined ? {} : { doubt }),
    parts: parts.map(({ about, rule }) => ({
      about,
      rule: { ...rowOf(rule), ...('isUnsure' in rule ? { value: 'deny' } : {}) },
    })),
  }
}

function commandsOf(line: Extract<ToolSubject, { readonly kind: 'command' }>) {
  const { unread: _, ...read } = line
  const commands = line.commands.map((command): readonly [string, ToolSubject] => {
    const [{ text, isOpen }] = command.texts
    return [isOpen === true ? `${text}…` : text, { ...read, commands: [command] }]
  })
  return line.unread === true || commands.length === 0 ? [...commands, [line.line, line] as const] : commands
}

function subjectOf(read: () => ToolSubject, text: string): ToolSubject {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw unusable(`${JSON.stringify(text)} is not a host`)
  }
}

function unusable(message: string): BatonError {
  return new BatonError('USAGE', message, { hint: `For example: baton config --permission 'bash npm test'` })
}

/** The same as plain JSON. */
export function judgedJson({ tool, verdict, doubt, parts }: JudgedCall): { readonly [key: string]: Json } {
  return {
    tool,
    verdict,
    ...(doubt === undefined ? {} : { doubt }),
    parts: parts.map(({ about, rule }) => ({ about, ...rule })),
  }
}
