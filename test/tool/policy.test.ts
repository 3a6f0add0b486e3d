import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Action } from '../../src/event/policy.ts'
import { createPathPolicy } from '../../src/tool/policy.ts'
import { tempTree } from '../helpers/temp.ts'

const workspace = tempTree({ 'src/a.ts': '', '.git/config': '', 'keep/ask.md': '' })
const agents = tempTree({ 'lint.lua': '' })
const elsewhere = tempTree({ 'x.txt': '' })
const agentsLink = join(workspace, 'agents-link')
symlinkSync(agents, agentsLink)
const policy = createPathPolicy({ workspace, readable: [agentsLink], protectedPaths: [join(workspace, 'keep/ask.md')] })

function check(kind: Action['kind'], path: string): string {
  const verdict = policy.check({ kind, path })
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind
}

describe('createPathPolicy', () => {
  it.each([
    ['read', join(workspace, 'src/a.ts'), 'allow'],
    ['read', workspace, 'allow'],
    ['read', join(workspace, '.git/config'), 'allow'],
    ['read', join(agents, 'lint.lua'), 'allow'],
    ['read', join(elsewhere, 'x.txt'), `${elsewhere}/x.txt is outside the workspace ${workspace}`],
    ['read', `${workspace}-other/x`, `${workspace}-other/x is outside the workspace ${workspace}`],
    ['write', join(workspace, 'new/b.ts'), 'allow'],
    ['write', join(workspace, '.gitignore'), 'allow'],
    ['write', join(workspace, '..config'), 'allow'],
    ['write', join(workspace, '.git/config'), '.git/config belongs to git, and agents never change it'],
    ['write', join(workspace, 'sub/.GIT/hooks/x'), 'sub/.GIT/hooks/x belongs to git, and agents never change it'],
    ['write', join(agents, 'lint.lua'), `${agents}/lint.lua is outside the workspace ${workspace}`],
    ['write', join(workspace, 'keep/ask.md'), 'keep/ask.md is protected'],
    ['write', join(workspace, 'keep/other.md'), 'allow'],
    ['delete', join(workspace, 'src'), 'allow'],
    ['delete', join(workspace, '.git'), '.git belongs to git, and agents never change it'],
    ['delete', workspace, `${workspace} is the workspace itself`],
    ['delete', join(workspace, 'keep'), 'keep holds keep/ask.md, which is protected'],
    ['delete', join(elsewhere, 'x.txt'), `${elsewhere}/x.txt is outside the workspace ${workspace}`],
  ] as const)('%s %s', (kind, path, expected) => {
    expect(check(kind, path)).toBe(expected)
  })
})
