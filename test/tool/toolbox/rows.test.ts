import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { toolRules } from '../../../src/tool/rule-list.ts'
import { bindTool } from '../../../src/tool/toolbox/bind.ts'
import { defineTool } from '../../../src/tool/toolbox/kind.ts'
import { isWriter, ownToolNames, rowOf, subjectKind, toolNames } from '../../../src/tool/toolbox/rows.ts'
import { createToolbox } from '../../../src/tool/toolbox/toolbox.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'

interface Schema {
  readonly properties?: { readonly [name: string]: JsonObject }
  readonly required?: readonly string[]
}

const schemaOf = async (name: (typeof toolNames)[number]): Promise<Schema> =>
  ((await rowOf(name).load?.())?.parameters ?? {}) as Schema

/** Names of parameters that say what a call touches. */
const telling = /path|file|folder|dir|url|uri|host|address|command|program/i

/** A call with this path, and words for the other required parameters. */
async function callWith(name: (typeof toolNames)[number], path: string): Promise<JsonObject> {
  const { required = [] } = await schemaOf(name)
  const others = required.map((parameter) => [parameter, parameter.startsWith('new') ? 'b' : 'a'] as const)
  return { ...Object.fromEntries(others), path }
}

const withPath = toolNames.filter((name) => subjectKind(name) === 'path')

const tree = {
  'work/.git/config': '[core]\n',
  'work/.env': 'KEY=abc\n',
  'work/keys/id_rsa': 'abc\n',
  'work/src/a.txt': 'a\n',
  'other/a.txt': 'a\n',
}

const forbidden = {
  'outside of the workspace': ['../other/a.txt', '../other', '/etc/passwd', '/etc', '/', 'src/../../other/a.txt'],
  'behind a link that leads outside': ['out/a.txt', 'out'],
  'a file of keys': ['.env', './src/../.env', 'keys/id_rsa', 'plain.txt', '~/.ssh/id_rsa'],
}

describe('every tool in the table', () => {
  it.each(withPath)('%s refuses protected paths', async (name) => {
    const folder = tempTree(tree)
    const workspace = join(folder, 'work')
    symlinkSync('../other', join(workspace, 'out'))
    symlinkSync('.env', join(workspace, 'plain.txt'))
    const { call, box } = toolHost(workspace)
    const permitted: string[] = []
    for (const path of Object.values(forbidden).flat()) {
      const { isError = false, text } = await call(name, await callWith(name, path))
      // a name below ~ is a name of the workspace, which no file has
      if (!isError || text.includes('KEY=') || text.includes('root:')) permitted.push(`${path}: ${text}`)
    }
    expect(permitted).toEqual([])
    expect(box.work.changes()).toEqual([])
  })

  it.each(withPath.filter(isWriter))('%s refuses what other programs execute', async (name) => {
    const workspace = join(tempTree(tree), 'work')
    const { call } = toolHost(workspace)
    for (const path of ['.git/config', '.GIT/config', '.github/workflows/a.yml', '.git/hooks/pre-commit']) {
      expect({ path, isError: (await call(name, await callWith(name, path))).isError }).toEqual({ path, isError: true })
    }
  })

  it('names the subject of its calls, if a parameter contains it', async () => {
    const silent: string[] = []
    for (const name of toolNames.filter((one) => subjectKind(one) === undefined)) {
      const named = Object.keys((await schemaOf(name)).properties ?? {}).filter((parameter) => telling.test(parameter))
      if (named.length > 0) silent.push(`${name}: ${named.join(', ')}`)
    }
    expect(silent).toEqual([])
  })

  it('has a default rule, and for paths one for everything outside of the workspace or of its own limits', () => {
    const rules = toolRules()
    expect(ownToolNames.filter((name) => !rules.some((rule) => rule.tool === name))).toEqual([])
    const open = withPath.filter((name) => !rules.some((rule) => rule.tool === name && rule.pattern === '**/.env*'))
    expect(open).toEqual([])
  })
})

describe('a tool whose calls do not name their subject', () => {
  const peek = (subject: object): Parameters<typeof bindTool>[0] =>
    defineTool<{ readonly path?: string }>({
      name: 'read',
      description: 'Reads.',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
      ...subject,
      run: () => Promise.resolve({ text: 'the content' }),
    })

  it.each([
    ['no subject', {}],
    ['a subject of another kind', { subject: () => ({ kind: 'name', name: 'a' }) }],
    ['no value', { subject: () => undefined }],
  ])('is not called: %s', async (_, subject) => {
    const workspace = tempTree({ 'a.txt': 'a\n' })
    const { context } = toolHost(workspace)
    const tool = bindTool(peek(subject), createToolbox({ baseDir: workspace }))
    const result = await tool.run('{"path":"a.txt"}', context)
    expect(result).toMatchObject({ isError: true })
    expect(result.text).not.toContain('the content')
  })
})
