import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { part, task } from '../../src/event/place.ts'
import { runsFolder } from '../../src/journal/run-id.ts'
import { ask, makeRun } from '../history/fixtures.ts'
import { root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage } from '../helpers/browser.ts'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'
import type { ModelScript } from '../helpers/model-server.ts'
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
    expect(await nodes()).toBeLessThan(1_000)
    expect(problems).toEqual([])
  },
)
