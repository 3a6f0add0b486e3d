import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { part, task } from '../../src/event/place.ts'
import { runsFolder } from '../../src/journal/run-id.ts'
import { ask, makeRun } from '../history/fixtures.ts'
import { baton, root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage, violationsIn } from '../helpers/browser.ts'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'
import type { ModelScript } from '../helpers/model-server.ts'
import { workersOf } from '../helpers/worker-processes.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const page = join(root, 'dist/bin/page')
afterAll(closeBrowser)

async function world(replies: ModelScript, files: Readonly<Record<string, string>> = {}): Promise<HttpServed> {
  const model = await startToolModel(replies)
  return serveTree({ 'baton.toml': 'model = "m"\n', ...files }, { env: { BATON_GATEWAY_URL: model.url }, page })
}

function gate(): { readonly gate: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  return { gate: new Promise<void>((resolve) => (open = resolve)), open: () => open() }
}

it.skipIf(!hasChromium)(
  'an answer is rendered while it is written, with its beginning in each tab, and its end stays in view (needs chromium)',
  async () => {
    const paused = gate()
    const lines = Array.from({ length: 120 }, (_, index) => `- point ${index}\n`)
    const chunks = ['The **beginning**.\n\n', ...lines, '\nThe end.']
    const served = await world([{ chunks, gateAfter: 100, gate: paused.gate }])
    const { body } = await served.post('/api/runs', { text: 'List them.', model: 'm' })
    const { page: first, problems } = await openPage(served, { route: `#/runs/${String(body['id'])}` })
    const second = await first.context().newPage()
    await second.goto(first.url())
    for (const view of [first, second]) {
      const answer = view.getByRole('article', { name: 'Answer in progress' })
      await answer.getByText('point 90').waitFor()
      expect(await answer.locator('strong').textContent()).toBe('beginning')
      expect(await answer.locator('li').first().textContent()).toBe('point 0')
      await expect.poll(() => view.locator('.panel').evaluate(isAtEnd)).toBe(true)
    }
    await second.reload()
    await second.getByText('beginning').waitFor()
    // whoever has scrolled up reads on
    await first.locator('.panel').evaluate((panel) => panel.scrollTo(0, 0))
    paused.open()
    for (const view of [first, second]) await view.getByText('The end.').waitFor()
    expect(await first.locator('.panel').evaluate(({ scrollTop }) => scrollTop)).toBe(0)
    await first.locator('.answer:not(.writing)').waitFor()
    expect(await first.locator('.answer').count()).toBe(1)
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'an answer of a run in a terminal is shown while it is written, with its beginning, and leaves no file (needs chromium)',
  async () => {
    const paused = gate()
    const chunks = [
      'The **beginning**.\n\n',
      ...Array.from({ length: 40 }, (_, index) => `- point ${index}\n`),
      'The end.',
    ]
    const served = await world([{ chunks, gateAfter: 30, gate: paused.gate }], { 'list.md': 'List them.\n' })
    const { page: view, problems } = await openPage(served)
    const ended = baton(['list.md'], { cwd: served.folder, env: { ...served.around.env, HOME: served.home } })
    await view.getByRole('row').filter({ hasText: 'list.md' }).click()
    const answer = view.getByRole('article', { name: 'Answer in progress' })
    await answer.getByText('point 20').waitFor()
    expect(await answer.locator('strong').textContent()).toBe('beginning')
    paused.open()
    expect((await ended).code).toBe(0)
    await view.locator('.answer:not(.writing)').getByText('The end.').waitFor()
    const { runs } = (await served.get('/api/runs')).body as { readonly runs: readonly { readonly id: string }[] }
    const folder = join(
      runsFolder({ ...served.around, workspace: served.folder, runsDir: undefined }),
      runs[0]?.id ?? '',
    )
    await expect.poll(() => readdirSync(folder).toSorted()).toEqual(['j-000001.jsonl', 'summary.json'])
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a run whose process is killed while it answers says so and what to do, also in a conversation (needs chromium)',
  async () => {
    const paused = gate()
    const reply = { chunks: ['The beginning. ', 'The end.'], gateAfter: 1, gate: paused.gate }
    const served = await world([reply, reply, { text: 'The whole.' }])
    const { page: view, problems } = await openPage(served)
    const started = async (path: string, body: object, route: string, name: string): Promise<void> => {
      const before = workersOf(process.pid)
      const { body: begun } = await served.post(path, body)
      await view.goto(`${served.serving.url}/#/${route}/${String(begun[name])}`)
      await view.getByText('The beginning.').waitFor()
      for (const worker of workersOf(process.pid)) if (!before.includes(worker)) process.kill(worker, 'SIGKILL')
    }
    await started('/prompt', { input: 'Say it.' }, 'conversations', 'conversationId')
    await view.getByText('Send another message, or resume the run.').waitFor()
    await started('/api/runs', { text: 'Say it.' }, 'runs', 'id')
    await view.getByText('Resume goes on from there.').waitFor()
    expect(await violationsIn(view)).toEqual([])
    await view.getByRole('button', { name: 'Resume' }).click()
    await view.getByText('The whole.').waitFor()
    expect(await view.getByText('Resume goes on from there.').count()).toBe(0)
    expect(problems).toEqual([])
  },
)

function isAtEnd({
  scrollHeight,
  scrollTop,
  clientHeight,
}: Record<'scrollHeight' | 'scrollTop' | 'clientHeight', number>): boolean {
  return scrollTop > 0 && scrollHeight - scrollTop - clientHeight < 2
}

it.skipIf(!hasChromium)(
  'a conversation shows tool calls, diffs and cost, while it is answered and afterwards (needs chromium)',
  async () => {
    const paused = gate()
    const edit = { path: 'a.txt', old_text: 'one', new_text: 'two' }
    const served = await world(
      [
        callsTools(['read', { path: 'a.txt' }]),
        { ...callsTools(['edit', edit]), text: 'Now I **change** it.' },
        { chunks: ['Changed', ' as asked.'], gateAfter: 1, gate: paused.gate },
      ],
      { 'a.txt': 'one\n' },
    )
    const { page: view, problems } = await openPage(served, { route: '#/conversations' })
    await view.getByRole('textbox', { name: 'Start a conversation' }).fill('Change it')
    await view.getByRole('button', { name: 'Send' }).click()
    const message = view.locator('.message')
    const steps = message.getByRole('list', { name: 'Steps' })
    await message.getByText('Waiting for your approval').waitFor()
    await message.getByRole('button', { name: 'Approve' }).click()
    await steps.locator('summary').filter({ hasText: 'edit' }).getByRole('img', { name: 'done' }).waitFor()
    await message.getByText('3 calls').waitFor()
    paused.open()
    await message.getByText('Changed as asked.').waitFor()
    await message.locator('.diff-side.added code').first().waitFor()
    expect(await message.locator('.diff-side.added code').allTextContents()).toEqual(['two'])
    expect(await message.getByText('Working…').count()).toBe(0)
    expect(await steps.locator('summary').allTextContents()).toEqual([' read a.txt', ' edit a.txt'])
    expect(await steps.locator('strong').textContent()).toBe('change')
    await steps.locator('summary').first().click()
    await steps.getByText('one').first().waitFor()
    await message.getByText(/^3 calls, \d+ tokens/).waitFor()
    const close = view.getByRole('button', { name: 'Close conversation' })
    await close.click()
    await view.getByText(/^Closed\. .* baton chat --resume /).waitFor()
    await close.waitFor({ state: 'detached' })
    expect(problems).toEqual([])
  },
)

/** A recorded run of many tasks, each with a model call; every 100th has failed. Returns its id. */
async function recordTasks({ around: { env, home, cwd: workspace } }: HttpServed, count: number): Promise<string> {
  const id = '20261122-054821-678ae1'
  const run = await makeRun({ runs: runsFolder({ env, home, workspace }), id })
  for (let index = 0; index < count; index += 1) {
    const at = [task(index)]
    const label = `src/file-${index}.ts`
    const work = async () => {
      const answer = `It is **${index}**. ${'More of it. '.repeat(20)}`
      await ask(run, [...at, part('ask')], { question: `question ${index}`, answer })
      if (index % 100 === 99) throw new BatonError('MODEL_FAILED', `task ${index} has failed`)
      return { status: 'done', index, label, content: answer }
    }
    await run.effects.boundary(at, work, { label }).catch(() => undefined)
  }
  await run.end()
  return id
}

it.skipIf(!hasChromium)(
  'a run of many tasks is shown by lists that hold only what is in view, with a filter for what failed (needs chromium)',
  { timeout: process.env['BATON_TASKS'] === undefined ? 60_000 : 300_000 },
  async () => {
    const count = Number(process.env['BATON_TASKS'] ?? 500)
    const served = await world([])
    const id = await recordTasks(served, count)
    const { page: view, problems } = await openPage(served)
    await view.getByRole('row').first().waitFor()
    const begun = Date.now()
    await view.goto(`${served.serving.url}/#/runs/${id}`)
    await view.getByText(`${count} tasks`).waitFor()
    if (process.env['BATON_TASKS'] !== undefined) process.stdout.write(`${count} tasks in ${Date.now() - begun} ms\n`)
    const nodes = (): Promise<number> => view.locator('*').count()
    expect(await nodes()).toBeLessThan(1_000)
    await view.getByRole('combobox', { name: 'State' }).selectOption('Failed')
    await view.getByText(`${count / 100} tasks`).waitFor()
    await view.getByRole('row').filter({ hasText: 'src/file-99.ts' }).click()
    await view.getByRole('complementary').getByText('It is 99.').first().waitFor()
    await view.getByRole('tab', { name: 'Tree' }).click()
    await view.getByText(`${count} shown`).waitFor()
    await view.getByRole('combobox', { name: 'State' }).selectOption('Failed')
    await view.getByText(`${count / 100} shown`).waitFor()
    await view.getByRole('tab', { name: 'Waterfall' }).click()
    await view.getByText(`${count} rows`).waitFor()
    // the selected row stays among those that are left
    await view.getByRole('combobox', { name: 'Rows' }).selectOption('All parts')
    await view.getByText(`${2 * count} rows`).waitFor()
    await view.getByRole('grid').press('End')
    await view.getByRole('combobox', { name: 'State' }).selectOption('Done')
    await view.locator('.grid-row.active').waitFor()
    expect(await nodes()).toBeLessThan(1_000)
    expect(problems).toEqual([])
  },
)

const review = {
  'review.md': '+++\nwrite_mode = "ask"\ncontext_globs = ["a.txt"]\n+++\nChange it.\n',
  'a.txt': 'one\n',
}
const changes =
  'It is **two** now.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-one\n+two\n</FILE_PATCH>\n</FILE_CHANGES>'

it.skipIf(!hasChromium).each([
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 375, height: 800 } },
] as const)(
  'all views can be read and used, $colorScheme and $viewport.width px wide: contrast, names, nothing wider (needs chromium)',
  async (options) => {
    const served = await world(
      [
        { text: 'One answer.' },
        { text: 'Another answer.' },
        { ...callsTools(['read', { path: 'a.txt' }]), text: 'I look.' },
        {
          text: `A table:\n\n| a | b |\n| --- | --- |\n| ${'wide '.repeat(60)} | 2 |\n\n\`\`\`\n${'code '.repeat(60)}\n\`\`\``,
        },
        { text: changes },
      ],
      review,
    )
    const begin = async (path: string, body: object): Promise<string> => {
      const answered = (await served.post(path, body)).body
      const id = String(answered['promptId'] ?? answered['id'])
      await expect
        .poll(
          async () => {
            const { run, approvals } = (await served.get(`/api/runs/${id}`)).body
            return (run as { status: string }).status !== 'running' || (approvals as unknown[]).length > 0
          },
          { timeout: 20_000 },
        )
        .toBe(true)
      return id
    }
    const before = await begin('/api/runs', { text: 'Say it.' })
    const after = await begin('/api/runs', { text: 'Say it again.' })
    const talk = await begin('/prompt', { input: 'Look at a.txt.' })
    const waiting = await begin('/api/runs', { file: 'review.md' })
    const routes = [
      ['#/', '.grid-row'],
      [`#/runs/${waiting}`, '.approval'],
      ...['tree', 'waterfall', 'charts', 'changes', 'report'].map((tab) => [
        `#/runs/${talk}/${tab}`,
        '[role=tabpanel] > *',
      ]),
      [`#/compare/${before}/${after}`, '.difference .diff'],
      [`#/conversations/${talk}`, '.message .tool-step'],
      ['#/conversations', '.files li'],
      ['#/files', '.files li'],
      ['#/files/review.md', 'h1'],
      ['#/new/review.md', 'form'],
      ['#/inbox', '.approval'],
      ['#/triggers', 'h1'],
    ] as const
    const { page: view } = await openPage(served, options)
    for (const [route = '', shows = ''] of routes) {
      await view.goto(`${served.serving.url}/${route}`)
      await view.locator(shows).first().waitFor()
      const found = (await violationsIn(view)).filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect([route, found]).toEqual([route, []])
      const wide = await view.locator('body').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect([route, wide]).toEqual([route, 0])
    }
  },
)

it.skipIf(!hasChromium)('a conversation and a run are read by keys alone (needs chromium)', async () => {
  const served = await world([callsTools(['read', { path: 'a.txt' }]), { text: 'It says **one**.' }], {
    'a.txt': 'one\n',
  })
  const { page: view, problems } = await openPage(served, { route: '#/conversations' })
  const tabTo = async (locator: Locator): Promise<void> => {
    await locator.first().waitFor()
    for (let count = 0; count < 40; count += 1) {
      if (await locator.first().evaluate((element) => element === element.ownerDocument.activeElement)) return
      await view.keyboard.press('Tab')
    }
    throw new Error('not reached by Tab')
  }
  await tabTo(view.getByRole('textbox'))
  await view.keyboard.type('Read it.')
  await view.keyboard.press('Control+Enter')
  await view.getByText('It says one.').waitFor()
  await tabTo(view.locator('.tool-step summary'))
  await view.keyboard.press('Enter')
  await view.locator('.tool-step[open] pre').first().waitFor()
  await tabTo(view.getByRole('link', { name: /^run / }))
  await view.keyboard.press('Enter')
  await tabTo(view.getByRole('tab', { name: 'Answer' }))
  await view.keyboard.press('ArrowRight')
  await tabTo(view.getByRole('treegrid'))
  await view.keyboard.press('ArrowDown')
  await view.keyboard.press('Enter')
  await view.getByRole('complementary').waitFor()
  await view.keyboard.press('Escape')
  await view.getByRole('complementary').waitFor({ state: 'detached' })
  expect(problems).toEqual([])
})

it.skipIf(!hasChromium)(
  'a comparison shows the changed lines with the figures of both runs, and a run its report (needs chromium)',
  async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`)
    const served = await world([{ text: lines.join('\n') }, { text: lines.with(10, 'other').join('\n') }])
    const ids: string[] = []
    for (const text of ['Say it.', 'Say it.']) {
      const id = String((await served.post('/api/runs', { text })).body['id'])
      await expect
        .poll(async () => ((await served.get(`/api/runs/${id}`)).body['run'] as { status: string }).status, {
          timeout: 20_000,
        })
        .toBe('done')
      ids.push(id)
    }
    const { page: view, problems } = await openPage(served, { route: `#/compare/${ids.join('/')}` })
    const answer = view.getByRole('article', { name: /^answer at task\/0/ })
    await answer.locator('.diff-side.added code').waitFor()
    expect(await answer.locator('.diff-side.removed code').allTextContents()).toEqual(['line 10'])
    expect(await answer.locator('.diff-side.added code').allTextContents()).toEqual(['other'])
    expect(await view.locator('.metrics tbody th').allTextContents()).toEqual(['Cost', 'Tokens', 'Model calls', 'Time'])
    await view.goto(`${served.serving.url}/#/runs/${ids[0]}/report`)
    await view.locator('.report h2').first().waitFor()
    const [opened] = await Promise.all([
      view.context().waitForEvent('page'),
      view.getByRole('button', { name: 'Open as a page' }).click(),
    ])
    await opened.getByRole('heading', { level: 1 }).waitFor()
    expect(problems).toEqual([])
  },
)
