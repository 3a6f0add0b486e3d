import { relative, sep } from 'node:path'
import { pathText } from '../base/data-text.ts'
import { isInside } from '../base/files.ts'
import type { ReadCommand, ToolRule, ToolSubject } from '../event/permission.ts'
import { closingRule, decidingRule, ruleText, type ToolAction } from './tool-rules.ts'

interface Around {
  /** The rules in effect, those of the run first. */
  readonly lists: readonly (readonly ToolRule[])[]
  readonly workspace: string
}

/**
 * The text for a model whose call needs an approval when nobody can be asked: which rule asks, and how to allow the
 * call.
 */
export function approvalAdvice(action: ToolAction, { lists, workspace }: Around): string {
  const { subject } = action
  const index = lists.findLastIndex((rules) => decidingRule(rules, action, workspace)?.effect === 'ask')
  if (index === -1) {
    const other = subject?.kind === 'path' ? closingRule(lists, subject.path, { workspace }) : undefined
    if (other !== undefined)
      return `permission denied: ${ruleText(other)} (${other.origin}) asks about this file, and nobody can be asked`
    // whoever searches reads
    if (action.tool === 'grep' || action.tool === 'glob')
      return approvalAdvice({ ...action, tool: 'read' }, { lists, workspace })
    return 'permission denied: changes are shown to the user first (write_mode = "ask"), and nobody can be asked'
  }
  const rule = decidingRule(lists[index] ?? [], action, workspace)
  if (index > 0) return `permission denied: ${rule?.origin} asks about it, and nobody can be asked`
  if (rule?.pattern === undefined && subject?.kind === 'command' && subject.doubt !== undefined) {
    return `permission denied: the line contains ${subject.doubt}, and no pattern allows that; leave it out, or let the user be asked`
  }
  if (rule?.isUnsure === true) {
    const denied = ruleText({ ...rule, effect: 'deny' })
    return `permission denied: ${denied} (${rule.origin}) may apply, because a part of the line is not known before it runs, and nobody can be asked; write the line without variables, wildcards and constructs that hide its commands`
  }
  const ignored = decidingRule((lists[index] ?? []).map(trusted), action, workspace)
  if (ignored?.effect === 'allow') {
    return `permission denied: ${ignored.origin} allows it, which counts only once that file is trusted (baton trust)`
  }
  const patterns = patternsFor(action, { lists, workspace })
  // rules of a folder's file take precedence over those of the user's file
  const [shown, ...others] =
    rule?.tightens === undefined
      ? patterns.map((pattern) => `${pathText(pattern)} = "allow"`)
      : patterns.map((pattern) => `-c '${['permission', ...pattern].join('.')}=allow'`)
  const all = [shown, ...others].join(rule?.tightens === undefined ? ' and ' : ' ')
  return rule?.tightens === undefined
    ? `permission denied; to allow it set [permission] ${all}`
    : `permission denied by ${rule.origin}; to allow it use ${all}`
}

/** A rule as if the file it comes from were trusted. */
function trusted(rule: ToolRule): ToolRule {
  const { tightens, ...kept } = rule
  return tightens === undefined ? rule : kept
}

/** Paths of the rules that would allow a call, as narrow as sensible: `['bash', 'npm test*']`. */
function patternsFor({ tool, subject }: ToolAction, { lists, workspace }: Around): readonly (readonly string[])[] {
  if (subject?.kind !== 'command') {
    const pattern = patternOf(subject, workspace)
    return [pattern === undefined ? [tool] : [tool, pattern]]
  }
  const isAllowed = (command: ReadCommand): boolean => {
    const action = { tool, subject: { ...subject, commands: [command] } }
    return decidingRule(lists[0] ?? [], action, workspace)?.effect === 'allow'
  }
  const asking = subject.commands.filter((command) => !isAllowed(command)).map(({ texts: [{ text }] }) => text)
  const patterns = [...new Set(asking.map(commandPattern))]
  return patterns.length === 0 ? [[tool]] : patterns.map((pattern) => [tool, pattern])
}

function patternOf(subject: ToolSubject | undefined, workspace: string): string | undefined {
  switch (subject?.kind) {
    case 'path': {
      const { path } = subject
      const name = isInside(workspace, path) ? relative(workspace, path).split(sep).join('/') : path
      return name === '' ? '**' : name.replaceAll(/[\\*?[\]{}!]/g, String.raw`\$&`)
    }
    case 'host':
      return subject.port === undefined ? subject.host : `${subject.host}:${subject.port}`
    case 'name':
      return subject.name
    case 'command':
    case 'any':
    case undefined:
      return undefined
  }
}

/** The program with its subcommand and any arguments: `npm test*`, `npm run build*`, `ls *`. */
function commandPattern(text: string): string {
  const words = text.split(' ')
  const names = words.slice(0, words[1] === 'run' ? 3 : 2)
  const isNamed = names.length > 1 && names.every((word) => /^[\w./@:-]+$/.test(word) && !word.startsWith('-'))
  if (words.length === 1) return text
  return isNamed ? `${names.join(' ')}*` : `${words[0]} *`
}
