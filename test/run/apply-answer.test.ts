import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defaults } from '../../src/settings/keys.ts'
import { type Settings, settingsOf } from '../../src/config/settings.ts'
import { isBatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import type { JsonObject } from '../../src/base/json.ts'
import type { ModelResult } from '../../src/event/agent.ts'
import { withServices } from '../../src/event/context.ts'
import { type ActionView, actionView } from '../../src/event/action-view.ts'
import type { Approver, Decision } from '../../src/event/permission.ts'
import { type Message, textOf } from '../../src/event/message.ts'
import { nothingSpent } from '../../src/event/meter.ts'
import { applyAnswer } from '../../src/run/apply-answer.ts'
import { failureOf } from '../../src/run/answer.ts'
import { readTree } from '../tool/changes/tree.ts'
import { createMemoryEffects } from '../helpers/memory-journal.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

type Reply = string | (Pick<ModelResult, 'end'> & { readonly text: string })

interface Attempt {
  readonly files: { readonly [path: string]: string }
  /** The answers of the model, one after the other. */
  readonly answers: readonly Reply[]
  /** Files that it was shown, in their current state; default: all. */
  readonly shown?: readonly string[]
  readonly settings?: JsonObject
  readonly dry?: 'changes'
  /** Answers for the user, who is shown each change. */
  readonly approver?: Approver
  /** Called before the model's n-th answer, counted from 0. */
  readonly meanwhile?: (folder: string, count: number) => void
}

function resultOf(reply: Reply): ModelResult {
  const { text, end } = typeof reply === 'string' ? { text: reply, end: 'done' as const } : reply
  const model = { name: 'm', provider: 'fake' }
  return { kind: 'model', end, text, reasoning: '', model, messages: [], calls: [], spent: nothingSpent, seconds: 0 }
}

/** Applies the first answer as a task does; the others are the answers to requests for a correction. */
async function attempt({
  files,
  answers,
  shown = Object.keys(files),
  settings = {},
  meanwhile,
  dry,
  approver,
}: Attempt) {
  const folder = tempTree(files)
  const plain = testContext({ workspace: folder, scope: dry === undefined ? {} : { dry } })
  const effects = createMemoryEffects({ approver })
  const context = approver === undefined ? plain : { ...plain, ...withServices(plain, { effects }) }
  const given: Settings = settingsOf({ ...defaults, write_mode: true, ...settings }, { workspace: folder })
  const asked: string[] = []
  const next = (): ModelResult => {
    meanwhile?.(folder, asked.length)
    return resultOf(answers[asked.length] ?? 'nothing more')
  }
  const conversation = {
    ask: async (messages: readonly Message[]) => {
      asked.push(messages.map(textOf).join('\n'))
      return next()
    },
    wasAnswered: () => false,
    spent: () => nothingSpent,
    calls: () => [],
    last: () => ({ text: '', spent: nothingSpent }),
  }
  const hashes = new Map(
    shown.map((path) => [join(given.base_dir, path), sha256(readFileSync(join(given.base_dir, path)))] as const),
  )
  const first = next()
  const outcome = await applyAnswer(first, { settings: given, shown: hashes, conversation }, context).then(
    (answer) => ({ answer, error: undefined }),
    (thrown: unknown) => ({ answer: undefined, error: failureOf(thrown).error }),
  )
  const error = isBatonError(outcome.error) ? outcome.error : undefined
  if (outcome.error !== undefined && error === undefined) throw outcome.error
  const warnings = context.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
  const reports = context.sent.flatMap((event) => (event.type === 'changes.applied' ? [event] : []))
  const events = context.sent.filter(({ type }) => type === 'changes.planned' || type === 'file.changed')
  return { answer: outcome.answer, events, error, asked, warnings, reports, tree: readTree(folder), folder }
}

const changes = (...directives: readonly string[]): string =>
  `<FILE_CHANGES>\n${directives.join('\n')}\n</FILE_CHANGES>`
const patch = (path: string, hunk: string): string => `<FILE_PATCH file_path="${path}">\n@@\n${hunk}\n</FILE_PATCH>`
const whole = (path: string, text: string): string => `<FILE_NEW file_path="${path}">\n${text}\n</FILE_NEW>`

const long = Array.from({ length: 60 }, (_, index) => `const value${index} = ${index}`).join('\n')
const source = `${long}\nfunction greet(name) {\n  return 'hello ' + name\n}\n${long}\n`
const misfit = patch('a.js', `-  return "hello, " + someone\n+  return 'bonjour ' + name`)
const fit = patch('a.js', `-  return 'hello ' + name\n+  return 'bonjour ' + name`)

describe('changes that cannot be applied', () => {
  it('are returned to the model with the problem and the nearest place, and the corrected ones are used', async () => {
    const answers = [`First.\n\n${changes(misfit, whole('b.md', 'new'))}`, `Second.\n\n${changes(fit)}`]
    const { answer, asked, tree, warnings } = await attempt({ files: { 'a.js': source }, answers })
    expect(answer?.text).toBe('Second.')
    expect(tree).toEqual({ 'a.js': source.replace('hello', 'bonjour') })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('a.js: 1 of 1 hunks failed: its context and removed lines are not in the file')
    expect(asked[0]).toContain('-  return "hello, " + someone')
    expect(asked[0]).toContain(`first_line="58"`)
    expect(asked[0]).toContain(`  return 'hello ' + name\n}`)
    // text that is far away is not sent again
    expect(asked[0]).not.toContain('const value20 ')
    // a correct change is not listed as a problem
    expect(asked[0]).not.toContain('b.md')
    expect(warnings).toEqual([
      'asking the model to correct its file changes: a.js: 1 of 1 hunks failed: its context and removed lines are not in the file',
    ])
  })

  it('in a fence next to text are applied if the model confirms them, and ignored otherwise', async () => {
    const fenced = `Like this:\n\n\`\`\`xml\n${changes(fit)}\n\`\`\`\n`
    const meant = await attempt({ files: { 'a.js': source }, answers: [fenced, changes(fit)] })
    expect(meant.asked[0]).toContain('if you mean it, write it outside a fence')
    expect(meant.tree).toEqual({ 'a.js': source.replace('hello', 'bonjour') })

    const shown = await attempt({ files: { 'a.js': source }, answers: [fenced, 'It was an example.'] })
    expect(shown.error).toBeUndefined()
    expect(shown.answer?.text).toBe('It was an example.')
    expect(shown.tree).toEqual({ 'a.js': source })
    for (const answers of [[fenced], ['*** Begin Patch\n*** Update File: a.js\n*** End Patch\n']]) {
      const { error } = await attempt({
        files: { 'a.js': source },
        answers,
        settings: { changes: { ...defaults.changes, repair: 0 } },
      })
      expect(error?.code).toBe('CHANGES_FAILED')
    }
  })

  it('fail the task if the corrected ones cannot be applied either; the error shows the hunk and the nearest place', async () => {
    const answers = [changes(misfit), changes(misfit)]
    const { error, asked, tree } = await attempt({ files: { 'a.js': source }, answers })
    expect(asked).toHaveLength(1)
    expect(error?.code).toBe('CHANGES_FAILED')
    expect(error?.message).toContain("the answer's file changes were not applied: a.js: 1 of 1 hunks failed")
    expect(error?.diff).toContain(
      '@@ does not match a.js\n-  return "hello, " + someone\n+  return \'bonjour \' + name\n',
    )
    expect(error?.diff).toContain('@@ nearest place: a.js:58\n const value57 = 57\n')
    expect(tree).toEqual({ 'a.js': source })
  })

  it.each([
    [0, 1],
    [2, 3],
  ])('are requested again as often as changes.repair says: %i', async (repair, answered) => {
    const settings = { changes: { ...defaults.changes, repair } }
    const answers = Array.from({ length: 9 }, () => changes(misfit))
    const { asked, error } = await attempt({ files: { 'a.js': source }, answers, settings })
    expect([asked.length + 1, error?.code]).toEqual([answered, 'CHANGES_FAILED'])
  })

  it('are named relative to the workspace in the error, and to base_dir for the model', async () => {
    const answers = [changes(misfit), changes(misfit)]
    const files = { 'sub/a.js': source }
    const { asked, error } = await attempt({ files, shown: [], answers, settings: { base_dir: 'sub' } })
    expect(asked[0]).toContain('- a.js: 1 of 1 hunks failed')
    expect(error?.message).toContain('not applied: sub/a.js: 1 of 1 hunks failed')
  })

  it('of a file that was never shown are returned without its content', async () => {
    const secret = 'password = hunter2\nreturn hello someone\n'
    const answers = [changes(patch('a.env', '-return hello, someone else\n+x')), changes()]
    const { asked, error } = await attempt({ files: { 'a.env': secret }, shown: [], answers })
    expect(asked[0]).toContain('a.env: 1 of 1 hunks failed')
    expect(asked[0]).not.toContain('hunter2')
    expect(asked[0]).not.toContain('nearest')
    // the user may see it
    expect(error?.diff).toContain('nearest place: a.env:1\n password = hunter2')
  })

  it('of a file that was changed meanwhile are returned with its whole current content', async () => {
    const answers = [changes(patch('a.js', '-one\n+two')), changes(patch('a.js', '-uno\n+dos'))]
    const { asked, tree } = await attempt({
      files: { 'a.js': 'one\nlast\n' },
      answers,
      meanwhile: (folder, count) => {
        if (count === 0) writeFileSync(join(folder, 'a.js'), 'uno\nlast\n')
      },
    })
    expect(asked[0]).toContain('<file path="a.js" lines="2">\nuno\nlast\n</file>')
    expect(tree).toEqual({ 'a.js': 'dos\nlast\n' })
  })
})

it('a dry run returns the diff of all changes, with paths relative to the workspace, and makes none', async () => {
  const files = { 'sub/a.js': 'a\nb\n', 'sub/b.js': 'x', 'sub/c.js': 'c\n' }
  const directives = [
    patch('a.js', ' a\n-b\n+B'),
    whole('new.js', 'n'),
    '<FILE_RENAME from_path="b.js" to_path="d.js" />',
    '<FILE_APPEND file_path="new.js">\nmore\n</FILE_APPEND>',
    '<FILE_DELETE file_path="c.js" />',
  ]
  const { answer, tree, events } = await attempt({
    files,
    shown: ['a.js', 'b.js', 'c.js'],
    answers: [`Words.\n${changes(...directives)}`],
    settings: { base_dir: 'sub' },
    dry: 'changes',
  })
  const diff = [
    'diff --git a/sub/a.js b/sub/a.js\n--- a/sub/a.js\n+++ b/sub/a.js\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n',
    'diff --git a/sub/new.js b/sub/new.js\nnew file mode 100644\n--- /dev/null\n+++ b/sub/new.js\n@@ -0,0 +1 @@\n+n\n',
    'diff --git a/sub/b.js b/sub/d.js\nrename from sub/b.js\nrename to sub/d.js\n',
    'diff --git a/sub/new.js b/sub/new.js\n--- a/sub/new.js\n+++ b/sub/new.js\n@@ -1 +1,2 @@\n n\n+more\n',
    'diff --git a/sub/c.js b/sub/c.js\ndeleted file mode 100644\n--- a/sub/c.js\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n',
  ].join('')
  expect(answer?.text).toBe(diff)
  expect(tree).toEqual(files)
  expect(events).toMatchObject([{ type: 'changes.planned', base_dir: 'sub', diff }])
})

it('a dry run requests corrections of changes that cannot be applied', async () => {
  const answers = [changes(misfit), changes(fit)]
  const { answer, asked, tree } = await attempt({ files: { 'a.js': source }, answers, dry: 'changes' })
  expect(asked).toHaveLength(1)
  expect(answer?.text).toContain("+  return 'bonjour ' + name\n")
  expect(tree).toEqual({ 'a.js': source })
})

it('the report says what was replaced, both names of a move, and the base of the paths', async () => {
  const files = { 'sub/a.js': 'a\n', 'sub/b.js': 'b\n', 'sub/c.js': 'c\n' }
  const directives = [
    whole('a.js', 'A'),
    whole('new.js', 'n'),
    '<FILE_RENAME from_path="b.js" to_path="d.js" />',
    '<FILE_COPY from_path="d.js" to_path="c.js" />',
  ]
  const { reports } = await attempt({
    files,
    shown: Object.keys(files).map((path) => path.slice(4)),
    answers: [changes(...directives)],
    settings: { base_dir: 'sub' },
  })
  expect(reports).toMatchObject([
    {
      base_dir: 'sub',
      items: [
        { file_path: 'a.js', kind: 'New', replaced: true },
        { file_path: 'new.js', kind: 'New' },
        { file_path: 'd.js', from_path: 'b.js', kind: 'Rename' },
        { file_path: 'c.js', from_path: 'd.js', kind: 'Copy', replaced: true },
      ],
    },
  ])
  expect(reports[0]?.items[1]).not.toHaveProperty('replaced')
})

describe('changes that are not edits', () => {
  it('in a wrong format are returned with the problem', async () => {
    const wrong = changes('<FILE_PATCH file_path="a.js">\n@@\n-x', '<FILE_MOVE file_path="b"/>')
    const { asked, tree } = await attempt({ files: { 'a.js': source }, answers: [wrong, changes(fit)] })
    expect(asked[0]).toContain('FILE_PATCH is never closed')
    expect(tree).toEqual({ 'a.js': source.replace('hello', 'bonjour') })
  })

  it('are a failure if the model then sends none at all', async () => {
    const answers = [changes(misfit), 'You are right, I will not change anything.']
    const { error, tree } = await attempt({ files: { 'a.js': source }, answers })
    expect(error?.message).toContain('a.js: 1 of 1 hunks failed')
    expect(tree).toEqual({ 'a.js': source })
  })
})

describe('files that the model does not know in their current state', () => {
  it('are returned by name if they were never shown', async () => {
    const files = { 'a.js': source, '.env': 'KEY=hunter2\n' }
    const answers = [changes(whole('.env', 'x')), changes(whole('b.env', 'x'))]
    const { asked, tree } = await attempt({ files, shown: ['a.js'], answers })
    expect(asked[0]).toContain('- .env: it exists, and you were not shown its content.')
    expect(asked[0]).not.toContain('hunter2')
    expect(tree).toEqual({ ...files, 'b.env': 'x\n' })
  })

  it('fail the task if they are replaced again', async () => {
    const files = { '.env': 'KEY=hunter2\n' }
    const answers = [changes(whole('.env', 'x')), changes(whole('.env', 'x'))]
    const { error, tree } = await attempt({ files, shown: [], answers })
    expect(error?.message).toContain('.env would be changed, deleted, moved or copied without having been shown')
    expect(error?.hint).toContain('Nothing of this answer was applied.')
    expect(tree).toEqual(files)
  })
})

describe('partial', () => {
  const settings = { partial: true }

  it('applies what is valid of the corrected changes, and only then', async () => {
    const both = changes(misfit, whole('b.md', 'new'))
    const { answer, asked, tree } = await attempt({ files: { 'a.js': source }, answers: [both, both], settings })
    expect(asked).toHaveLength(1)
    expect(tree).toEqual({ 'a.js': source, 'b.md': 'new\n' })
    expect(answer?.fileChanges.map(({ success }) => success)).toEqual([false, true])
  })

  it('applies what is valid of the first changes if there is no correction', async () => {
    const answers = [changes(misfit, whole('b.md', 'new')), 'Sorry.']
    const { tree } = await attempt({ files: { 'a.js': source }, answers, settings })
    expect(tree).toEqual({ 'a.js': source, 'b.md': 'new\n' })
  })

  it('requests no correction of a truncated answer', async () => {
    const answers: readonly Reply[] = [{ end: 'max_tokens', text: changes(misfit, whole('b.md', 'new')) }]
    const { asked, tree } = await attempt({ files: { 'a.js': source }, answers, settings })
    expect(asked).toEqual([])
    expect(tree).toEqual({ 'a.js': source, 'b.md': 'new\n' })
  })
})

describe('write_mode = "ask"', () => {
  const settings = { write_mode: 'ask' }
  const files = { 'a.js': 'a\n', 'b.js': 'b\n' }
  const both = changes(patch('a.js', '-a\n+A'), patch('b.js', '-b\n+B'))

  it('shows the diff of each change, and makes the approved ones', async () => {
    const shown: string[] = []
    const approver: Approver = async (action) => {
      shown.push('diff' in action ? `${action.kind} ${action.diff}` : action.kind)
      return shown.length === 1 ? 'allow' : 'deny'
    }
    const { answer, tree } = await attempt({ files, answers: [both], settings, approver })
    expect(shown[0]).toBe('write diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-a\n+A\n')
    expect(tree).toEqual({ 'a.js': 'A\n', 'b.js': 'b\n' })
    expect(answer?.fileChanges).toMatchObject([{ success: true }, { success: false, declined: true }])
  })

  it('returns a remark to the model, which does not count as a correction', async () => {
    const said = [{ remark: 'Write AA.' }, 'deny', 'allow', 'allow'] as const
    let count = 0
    const approver: Approver = async () => said[count++] ?? 'deny'
    const better = changes(patch('a.js', '-a\n+AA'), patch('b.js', '-b\n+B'))
    const { asked, tree } = await attempt({
      files,
      answers: [both, better],
      settings: { ...settings, changes: { ...defaults.changes, repair: 0 } },
      approver,
    })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('- a.js: rejected.\n\nThey say:\n\nWrite AA.\n')
    expect(tree).toEqual({ 'a.js': 'AA\n', 'b.js': 'B\n' })
  })

  it('keeps what was accepted if another change is rejected with a remark, and tells the model which', async () => {
    const said = ['allow', { remark: 'Not b.' }, 'allow'] as const
    const views: ActionView[] = []
    const approver: Approver = async (action) => {
      views.push(actionView(action))
      return said[views.length - 1] ?? 'deny'
    }
    const { answer, asked, tree } = await attempt({
      files,
      answers: [`First a, then b.\n\n${both}`, changes(patch('b.js', '-b\n+BB'))],
      settings,
      approver,
    })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('- a.js: applied.\n\n- b.js: rejected.\n\nThey say:\n\nNot b.\n')
    expect(tree).toEqual({ 'a.js': 'A\n', 'b.js': 'BB\n' })
    expect(answer?.fileChanges).toMatchObject([{ file_path: 'a.js' }, { file_path: 'b.js' }])
    const explanation = 'First a, then b.'
    expect(views.slice(0, 2).map(({ review }) => review)).toEqual([
      { number: 1, count: 2, explanation },
      { number: 2, count: 2, explanation },
    ])
  })

  it('keeps it if the model then sends no change, and if its new file is rejected too', async () => {
    const said: Decision[] = ['allow', { remark: 'Not b.' }]
    const { error, tree } = await attempt({
      files,
      answers: [both, 'I leave it.'],
      settings,
      approver: async () => said.shift() ?? 'deny',
    })
    expect([error, tree]).toEqual([undefined, { 'a.js': 'A\n', 'b.js': 'b\n' }])
    const again: Decision[] = ['allow', { remark: 'Not b.' }, 'deny']
    const second = await attempt({
      files,
      answers: [both, both],
      settings,
      approver: async () => again.shift() ?? 'deny',
    })
    expect(second.tree).toMatchObject({ 'a.js': 'A\n' })
  })

  it('makes exactly the accepted hunks of a file, and returns the others with their lines and remarks', async () => {
    const long = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)
    const wide = { 'a.js': `${long.join('\n')}\n`, 'b.js': 'b\n' }
    const three = `<FILE_PATCH file_path="a.js">\n@@\n-line 2\n+two\n@@\n-line 15\n+fifteen\n@@\n-line 29\n+twenty-nine\n</FILE_PATCH>`
    const said: Decision[] = [{ hunks: [1, 3], remarks: [{ hunk: 2, text: 'Use 15.' }] }, 'allow', 'allow']
    const { answer, asked, tree } = await attempt({
      files: wide,
      answers: [changes(three, patch('b.js', '-b\n+B')), changes(patch('a.js', '-line 15\n+15'))],
      settings,
      approver: async () => said.shift() ?? 'deny',
    })
    expect(asked[0]).toContain(
      '- a.js: hunks 1 and 3 of 3 applied, the rest rejected.\n\nRejected: a.js:15\n\n-line 15\n+fifteen\n\nThey say:\n\nUse 15.\n\n- b.js: applied.',
    )
    // what it now has
    expect(asked[0]).toContain('<file path="a.js" lines="30">\nline 1\ntwo\nline 3\n')
    const expected = wide['a.js']
      .replace('line 2\n', 'two\n')
      .replace('line 15\n', '15\n')
      .replace('line 29\n', 'twenty-nine\n')
    expect(tree).toEqual({ 'a.js': expected, 'b.js': 'B\n' })
    expect(answer?.fileChanges).toMatchObject([{ declined_hunks: [2] }, { file_path: 'b.js' }, { file_path: 'a.js' }])
  })

  it('leaves out a change of a file of which an earlier change was rejected, whatever was said about it', async () => {
    const append = `<FILE_APPEND file_path="a.js">\nmore\n</FILE_APPEND>`
    const said: Decision[] = ['deny', 'allow', 'allow']
    const { tree } = await attempt({
      files,
      answers: [changes(patch('a.js', '-a\n+A'), append, patch('b.js', '-b\n+B'))],
      settings,
      approver: async () => said.shift() ?? 'deny',
    })
    expect(tree).toEqual({ 'a.js': 'a\n', 'b.js': 'B\n' })
  })

  it('does not make a change that differs by then', async () => {
    const approver: Approver = async (action) => {
      if ('named' in action) writeFileSync(action.named, 'new\na\n')
      return 'allow'
    }
    const changed = { ...settings, changes: { ...defaults.changes, repair: 0 } }
    const answers = [changes(patch('a.js', '-a\n+A'))]
    const { error, tree } = await attempt({ files, answers, settings: changed, approver })
    expect(error?.message).toContain('a.js: it would now do something other than what was approved')
    expect(tree).toMatchObject({ 'a.js': 'new\na\n' })
  })

  it('fails if nobody can be asked, and changes nothing', async () => {
    const { error, tree } = await attempt({ files, answers: [both], settings })
    expect([error?.code, error?.hint]).toEqual(['NEEDS_INPUT', 'Run it on a terminal, or use -y or --on-ask.'])
    expect(tree).toEqual(files)
  })
})

describe('an answer with code that changes no file', () => {
  const block = (language: string): string => `Do it so:\n\n\`\`\`${language}\nconst a = 1\n\`\`\`\n`

  it.each(['ts', '', 'diff'])('ends with a warning: a block in "%s"', async (language) => {
    const { answer, warnings } = await attempt({ files: { 'a.ts': 'const a = 0\n' }, answers: [block(language)] })
    expect(answer?.fileChanges).toEqual([])
    expect(warnings).toEqual(['the answer has code in it, but changes no file'])
  })

  it.each(['sh', 'text', 'console'])(
    'ends without one: a block in "%s", which is no code of a file',
    async (language) => {
      expect((await attempt({ files: {}, answers: [block(language)] })).warnings).toEqual([])
    },
  )

  it('ends without one if it changes a file, or has no block', async () => {
    const both = `${block('ts')}\n${changes(whole('b.ts', 'const b = 1'))}`
    expect((await attempt({ files: {}, answers: [both] })).warnings).toEqual([])
    expect((await attempt({ files: {}, answers: ['Use `const a = 1`.'] })).warnings).toEqual([])
  })
})
