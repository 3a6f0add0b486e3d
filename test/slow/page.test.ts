import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage } from '../helpers/browser.ts'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'
import type { ModelScript } from '../helpers/model-server.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const long = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('')
const files = {
  'baton.toml': 'model = "m"\n',
  'ask.md': 'What is this?\n',
  'write.md': '+++\ntools = ["write"]\nwrite_mode = true\n+++\nMake it.\n',
  'review.md': '+++\nwrite_mode = "ask"\ncontext_globs = ["long.txt"]\n+++\nChange it.\n',
  'long.txt': long,
  'plan.md': '+++\ntools = ["todo"]\n+++\nPlan it.\n',
}
const page = join(root, 'dist/bin/page')
afterAll(closeBrowser)

async function world(
  replies: ModelScript,
): Promise<HttpServed & { readonly run: (file: string) => ReturnType<typeof baton> }> {
  const model = await startToolModel(replies)
  const served = await serveTree(files, { env: { BATON_GATEWAY_URL: model.url }, page })
  const { folder: cwd, around } = served
  return { ...served, run: (file) => baton([file], { cwd, env: { ...around.env, HOME: around.home }, process: 'own' }) }
}

it.skipIf(!hasChromium)(
  'a run of another process is watched while it goes on, and its answer is Markdown (needs chromium)',
  async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const served = await world([{ text: 'It is **bold**.', gate }])
    const { page: view, problems } = await openPage(served)
    await view.getByText('No runs yet').waitFor()
    const ended = served.run('ask.md')
    await view.getByRole('row').filter({ hasText: 'running' }).click()
    await view.getByRole('tab', { name: 'Tree' }).click()
    const row = view.getByRole('row').filter({ hasText: 'model' })
    await row.getByRole('img', { name: 'running' }).waitFor()
    open()
    expect((await ended).code).toBe(0)
    await row.getByRole('img', { name: 'done' }).waitFor()
    await view.getByRole('tab', { name: 'Answer' }).click()
    expect(await view.locator('.markdown strong').textContent()).toBe('bold')
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a page goes on with a new address when its server was killed and begins again: nothing of the run is missing (needs chromium)',
  async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const served = await world([{ text: 'It is here.', gate }])
    const { page: view } = await openPage(served)
    await view.getByText('No runs yet').waitFor()
    const ended = served.run('ask.md')
    await view.getByRole('row').filter({ hasText: 'running' }).click()
    await view.getByRole('tab', { name: 'Tree' }).click()
    await view.getByRole('row').filter({ hasText: 'model' }).waitFor()
    await served.serving.close()
    await view.getByText('Connection to the server lost').waitFor()
    // the run ends while no server reports it
    open()
    expect((await ended).code).toBe(0)
    const { serving } = await serveTree({}, { place: served, page, port: served.serving.port })
    // what the earlier server has let in is nobody here
    await view.getByText('This page needs a new address').waitFor()
    const route = new URL(view.url()).hash
    expect(await view.evaluate(`localStorage.getItem('baton.token')`)).toBeNull()
    await view.goto(serving.newAddress())
    await view.getByRole('row').filter({ hasText: 'ask.md' }).waitFor()
    await view.goto(`${serving.url}/${route}`)
    await view.getByRole('row').filter({ hasText: 'model' }).getByRole('img', { name: 'done' }).waitFor()
    expect(await view.getByText('Connection to the server lost').count()).toBe(0)
    await view.getByRole('tab', { name: 'Answer' }).click()
    await view.getByText('It is here.').waitFor()
  },
)

it.skipIf(!hasChromium)(
  'a page whose network was away goes on, and other tabs are let in by one address (needs chromium)',
  async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const served = await world([{ text: 'It is here.', gate }])
    const { page: view } = await openPage(served)
    const ended = served.run('ask.md')
    await view.getByRole('row').filter({ hasText: 'running' }).click()
    await view.getByRole('tab', { name: 'Tree' }).click()
    await view.getByRole('row').filter({ hasText: 'model' }).waitFor()
    await view.context().setOffline(true)
    await view.context().setOffline(false)
    const other = await view.context().newPage()
    await other.goto(`${served.serving.url}/#/`)
    await other.getByRole('row').filter({ hasText: 'running' }).waitFor()
    open()
    expect((await ended).code).toBe(0)
    await view.getByRole('row').filter({ hasText: 'model' }).getByRole('img', { name: 'done' }).waitFor()
  },
)

it.skipIf(!hasChromium)(
  'the address is gone from the page before it shows anything, it works once, and no cookie is set (needs chromium)',
  async () => {
    const served = await world([])
    const address = served.serving.newAddress()
    const { page: view, problems } = await openPage(served, { address })
    await view.getByText('No runs yet').waitFor()
    expect(view.url()).toBe(`${served.serving.url}/#/`)
    expect(await view.context().cookies()).toEqual([])
    // the token lets in this browser
    await view.reload()
    await view.getByText('No runs yet').waitFor()
    await view.goto(address)
    await view.getByText('No runs yet').waitFor()
    const [opened] = await Promise.all([
      view.context().waitForEvent('page'),
      view.getByRole('button', { name: 'API' }).click(),
    ])
    await opened.getByRole('heading', { name: 'baton serve API' }).waitFor()
    // nobody else is let in by the same address; the browser reports the refused ticket
    expect(problems.filter((one) => !one.includes('401'))).toEqual([])
    const { page: other } = await openPage(served, { address })
    await other.getByText('This page needs a new address').waitFor()
    await other.goto(served.serving.newAddress())
    await other.getByText('No runs yet').waitFor()
  },
)

it.skipIf(!hasChromium)('a question is approved by a button, and the run goes on (needs chromium)', async () => {
  const steps = { todos: [{ content: 'Look', status: 'pending' }] }
  const served = await world([callsTools(['todo', steps]), { text: 'Planned.' }])
  const { page: view, problems } = await openPage(served, { route: '#/files/plan.md' })
  await view.getByRole('button', { name: 'Run', exact: true }).click()
  await view.getByRole('article', { name: 'Approve call 1 of todo?' }).waitFor()
  await view.getByRole('button', { name: 'Approve' }).click()
  await view.getByRole('article', { name: 'Answer for plan.md' }).getByText('Planned.').waitFor()
  expect(problems).toEqual([])
})

it.skipIf(!hasChromium)(
  'the changes of an answer are reviewed beside what it says, by keys and hunk by hunk (needs chromium)',
  async () => {
    const text = `First the **file**.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="long.txt">\n@@\n-line 2\n+two\n@@\n-line 28\n+28\n</FILE_PATCH>\n<FILE_NEW file_path="new.txt">\nnew\n</FILE_NEW>\n</FILE_CHANGES>`
    const served = await world([{ text }, { text: 'Then not.' }])
    const { page: view, problems } = await openPage(served, { route: '#/files/review.md' })
    await view.getByRole('button', { name: 'Run', exact: true }).click()
    const [first, second] = [1, 2].map((id) => view.getByRole('article', { name: `Approve call ${id} of write?` }))
    await first?.getByText('1 of 2', { exact: true }).waitFor()
    await second?.getByText('2 of 2', { exact: true }).waitFor()
    expect(
      await view.getByRole('complementary', { name: 'What the answer says' }).locator('strong').textContent(),
    ).toBe('file')
    await first?.getByLabel('hunk 2 of 2, line 28').uncheck()
    await first?.getByLabel('Remark about hunk 2 (optional)').fill('Keep it.')
    await first?.getByRole('button', { name: 'Edit hunk 1' }).click()
    const lines = first?.getByLabel('New lines of hunk 1')
    await lines?.fill((await lines.inputValue()).replace('two', 'TWO'))
    await first?.getByRole('button', { name: 'Approve 1 of 2 hunks' }).click()
    await first?.waitFor({ state: 'detached' })
    await second?.getByRole('button', { name: 'Edit hunk 1' }).click()
    await second?.getByLabel('New lines of hunk 1').fill('newer')
    await second?.getByLabel('New lines of hunk 1').press('Escape')
    await view.evaluate('document.activeElement.blur()')
    // the first key only selects
    await view.locator('body').press('y')
    expect(await second?.count()).toBe(1)
    await view.keyboard.press('y')
    await view.getByRole('article', { name: 'Answer for review.md' }).getByText('Then not.').waitFor()
    expect(readFileSync(join(served.folder, 'long.txt'), 'utf8')).toBe(long.replace('line 2\n', 'TWO\n'))
    expect(readFileSync(join(served.folder, 'new.txt'), 'utf8')).toBe('newer\n')
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a long question can be approved once all of it is shown, also what cannot be seen (needs chromium)',
  async () => {
    const content = `Look\u200b ${'a'.repeat(25_000)} end`
    const served = await world([
      callsTools(['todo', { todos: [{ content, status: 'pending' }] }]),
      { text: 'Planned.' },
    ])
    const { page: view, problems } = await openPage(served, { route: '#/files/plan.md' })
    await view.getByRole('button', { name: 'Run', exact: true }).click()
    const question = view.getByRole('article', { name: 'Approve call 1 of todo?' })
    await question.getByText('Look<U+200B> aaa').waitFor()
    const approve = question.getByRole('button', { name: 'Approve' })
    expect(await approve.isDisabled()).toBe(true)
    expect(await question.getByText('a end').count()).toBe(0)
    await question.getByRole('button', { name: /Show all/ }).click()
    await question.getByText('a end').waitFor()
    await approve.click()
    await view.getByRole('article', { name: 'Answer for plan.md' }).getByText('Planned.').waitFor()
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'what a run has changed is shown side by side, and undone by a button (needs chromium)',
  async () => {
    const served = await world([callsTools(['write', { path: 'made.txt', content: 'one\ntwo\n' }]), { text: 'Made.' }])
    expect((await served.run('write.md')).code).toBe(0)
    const made = join(served.folder, 'made.txt')
    expect(readFileSync(made, 'utf8')).toBe('one\ntwo\n')
    const { page: view, problems } = await openPage(served)
    await view.getByRole('row').filter({ hasText: 'write.md' }).click()
    await view.getByRole('tab', { name: 'Changes' }).click()
    await view.locator('.diff-side.added code').first().waitFor()
    expect(await view.locator('.diff-side.added code').allTextContents()).toEqual(['one', 'two'])
    await view.getByRole('button', { name: 'Undo all' }).click()
    await view
      .getByRole('group', { name: 'Undo the changes to 1 file?' })
      .getByRole('button', { name: 'Undo all' })
      .click()
    await expect.poll(() => existsSync(made), { timeout: 20_000 }).toBe(false)
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)('two runs are picked and compared, by keys alone (needs chromium)', async () => {
  const served = await world([{ text: 'One answer.' }, { text: 'Another answer.' }])
  await served.run('ask.md')
  await served.run('ask.md')
  const { page: view, problems } = await openPage(served)
  await view.getByRole('row').nth(1).waitFor()
  await view.locator('.grid-body').focus()
  await view.keyboard.press('c')
  await view.keyboard.press('ArrowDown')
  await view.keyboard.press('c')
  await view.getByRole('button', { name: 'Compare 2/2' }).click()
  await view.getByText('One answer.').first().waitFor()
  await view.getByText('Another answer.').first().waitFor()
  await view.keyboard.press('Escape')
  await view.getByRole('row').nth(1).waitFor()
  expect(problems).toEqual([])
})

it.skipIf(!hasChromium)('a conversation is begun and continued on the page (needs chromium)', async () => {
  const served = await world([{ text: 'First answer.' }, { text: 'Second answer.' }])
  const { page: view, problems } = await openPage(served, { route: '#/conversations' })
  await view.getByRole('textbox', { name: 'Start a conversation' }).fill('Hello')
  await view.keyboard.press('Control+Enter')
  await view.getByText('First answer.').waitFor()
  await view.getByRole('textbox', { name: 'Reply' }).fill('And now?')
  await view.getByRole('button', { name: 'Send' }).click()
  await view.getByText('Second answer.').waitFor()
  expect(await view.locator('.asked').allTextContents()).toEqual(['Hello', 'And now?'])
  expect(problems).toEqual([])
})

it.skipIf(!hasChromium)(
  'markup of models, files and agents stays text, and nothing of it is loaded or run (needs chromium)',
  async () => {
    const evil =
      '<img src=x onerror="document.title=1"><script>document.title=2</script><iframe src="https://evil.example"></iframe>'
    const link =
      '[click](javascript:document.title=3) ![pixel](https://evil.example/pixel.png) <a href="https://example.com" onclick="document.title=4">fine</a>'
    const name = '<img src=x onerror=alert(1)>.txt'
    const served = await world([callsTools(['write', { path: name, content: evil }]), { text: `${evil}\n\n${link}` }])
    expect((await served.run('write.md')).code).toBe(0)
    const { page: view, problems } = await openPage(served)
    const asked: string[] = []
    view.on('request', (request) => void asked.push(request.url()))
    await view.getByRole('row').filter({ hasText: 'write.md' }).click()
    await view.getByText('fine').waitFor()
    const nodes = await view
      .locator('.markdown :is(img, script, iframe, [onclick], [onerror], a[href^="javascript"])')
      .count()
    expect(nodes).toBe(0)
    expect(await view.getByRole('link', { name: 'fine' }).getAttribute('rel')).toBe('noopener noreferrer')
    for (const tab of ['Tree', 'Waterfall', 'Changes', 'Charts']) {
      await view.getByRole('tab', { name: tab }).click()
      await view.getByRole('tabpanel').waitFor()
      expect(await view.locator('main :is(img, script, iframe)').count()).toBe(0)
    }
    expect(await view.title()).toContain('Baton')
    expect(asked.filter((url) => !url.startsWith(served.serving.url))).toEqual([])
    // the browser reports that it has not run the handlers in the markup
    expect(problems.filter((one) => !one.startsWith('Executing inline event handler'))).toEqual([])
  },
)
