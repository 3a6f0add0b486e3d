import { displayPath, isInside, escapingLink } from '../base/files.ts'
import type { RunFolders } from '../event/context.ts'
import type { NewFileContent, Permission, Rights, Verdict } from '../event/permission.ts'
import { packPathRule, packProtection, packRule } from './capabilities.ts'
import { type PathAction, workspaceRule } from './path-rules.ts'
import { protectionRule } from './protected/places.ts'
import { closingRule, ruleText, toolVerdict } from './tool-rules.ts'

/** The permission defined by rights: every rule must allow an action. */
export function createPermission(
  { packs, protections, rules }: Rights,
  folders: Pick<RunFolders, 'workspace' | 'aipackBase' | 'ownFolders' | 'closed'>,
): Permission {
  const { workspace } = folders
  const pathRules = [
    workspaceRule(folders),
    ...packs.flatMap((pack) => [
      packPathRule(pack, workspace),
      protectionRule(packProtection(pack, workspace), folders),
    ]),
    ...protections.map((protection) => protectionRule(protection, folders)),
  ]
  const otherRules = packs.map(packRule)
  // a tool has asked for its call, under the same rules
  const isOfTool = protections.some(({ kind }) => kind === 'answer')

  function reasonAgainst(action: PathAction, content?: NewFileContent): string | undefined {
    for (const rule of pathRules) {
      const reason = rule(action, content)
      if (reason !== undefined) return reason
    }
    return action.kind === 'read' ? reasonAgainstReading(action.path) : undefined
  }

  function reasonAgainstReading(path: string): string | undefined {
    const rule = closingRule(rules, path, { workspace })
    if (rule === undefined || (isOfTool && rule.effect === 'ask')) return undefined
    const why = rule.effect === 'ask' ? ', and a script cannot ask' : ''
    return `${displayPath(workspace, path)} may not be read: ${ruleText(rule)} (${rule.origin})${why}`
  }

  function deniedPath(action: PathAction, reason: string): Verdict {
    const { kind, path, named } = action
    if (isInside(workspace, path)) return { kind: 'deny', reason, code: 'FILE_FAILED', hint: 'Use another path.' }

    const isOwn = (real: string): boolean => kind !== 'read' && isInside(workspace, real)
    const isAllowed = (real: string): boolean => reasonAgainst({ ...action, path: real }) === undefined
    const link = escapingLink(named, (real) => isOwn(real) || isAllowed(real))
    const shown = displayPath(workspace, named)
    return {
      kind: 'deny',
      reason:
        link === undefined
          ? reason
          : `${shown} leads outside the workspace through the link ${displayPath(workspace, link)}`,
      code: 'OUTSIDE_WORKSPACE',
      hint: kind === 'read' ? capabilityHint : `Agents can change files only in ${workspace}.`,
    }
  }

  return {
    check(action, content) {
      switch (action.kind) {
        case 'read':
        case 'write':
        case 'delete': {
          const reason = reasonAgainst(action, content)
          return reason === undefined ? { kind: 'allow' } : deniedPath(action, reason)
        }
        case 'tool':
          return toolVerdict(rules, action, workspace)
        case 'command':
        case 'connect':
        case 'mcp':
        case 'model': {
          const reason = otherRules.map((rule) => rule(action)).find((one) => one !== undefined)
          if (reason === undefined) return { kind: 'allow' }
          return action.kind === 'model'
            ? { kind: 'deny', reason, code: 'UNTRUSTED', hint: modelHint }
            : { kind: 'deny', reason: `${action.caller}: ${reason}`, code: 'UNTRUSTED', hint: capabilityHint }
        }
      }
    },
  }
}

/** The same permission, but everything it allows needs an approval first. */
export function requireApproval(permission: Permission): Permission {
  return {
    check(action, content) {
      const verdict = permission.check(action, content)
      return verdict.kind === 'allow' ? { kind: 'ask' } : verdict
    },
  }
}

const capabilityHint =
  '[capabilities] in its pack.toml declares what its agents may do; you agree to that when you install it.'
const modelHint = 'Use a model that [capabilities] in its pack.toml lists.'
