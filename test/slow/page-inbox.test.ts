import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage, violationsIn } from '../helpers/browser.ts'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'
import type { ModelScript } from '../helpers/model-server.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

// What waits for a person, the forms, and the list, on the page.

const long = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('')
const program = join(root, 'test/fixtures/mcp/stdio.mjs')
const files = {
  'baton.toml': 'model = "m"\n',
  'ask.md': 'What is this?\n',
  'plan.md': '+++\ntools = ["todo"]\n+++\nPlan it.\n',
  'review.md': '+++\nwrite_mode = "ask"\ncontext_globs = ["long.txt"]\n+++\nChange it.\n',
  'long.txt': long,
  'who.md': '+++\nagent = "who.lua"\n+++\nHi\n',
  'who.lua': 'return aip.mcp.call("test", "ask", {}).text',
  'greet.md': `+++
agent = "greet.lua"
description = "Greets somebody."
[input.language]
required = true
enum = ["de", "en"]
[input.name]
description = "Who is greeted"
default = "Ada"
+++
Hi
`,
  'greet.lua': 'aip.file.save("out.txt", "x\\n"); return "greeted"',
}
const page = join(root, 'dist/bin/page')
afterAll(closeBrowser)

const patch = (word: string): string =>
  `It is **${word}**.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="long.txt">\n@@\n-line 2\n+two\n@@\n-line 28\n+28\n</FILE_PATCH>\n<FILE_NEW file_path="${word}.txt">\nnew\n</FILE_NEW>\n</FILE_CHANGES>`
/** Counts how often the page asks to notify, keeps what it notifies of, and lets it believe that nobody looks at it. */
const notificationsOfTest = `
  globalThis.asked = 0
  globalThis.shown = []
  globalThis.Notification = class {
    static permission = 'default'
    static async requestPermission() {
      asked += 1
      return (Notification.permission = 'granted')
    }
    constructor(title) { shown.push(title) }
    addEventListener() {}
  }
  Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
`
const todo = callsTools(['todo', { todos: [{ content: 'Look', status: 'pending' }] }])

async function world(
  replies: ModelScript,
): Promise<HttpServed & { readonly run: (...words: string[]) => Promise<unknown> }> {
  const model = await startToolModel(replies)
  const config = `[mcp_servers.test]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]\n`
  const served = await serveTree(files, { env: { BATON_GATEWAY_URL: model.url }, page, config })
  const { folder: cwd, around } = served
  const run = (...words: string[]) => baton(words, { cwd, env: { ...around.env, HOME: around.home }, process: 'own' })
  return { ...served, run }
}

it.skipIf(!hasChromium)(
  'the inbox has all that waits, of all runs, and is answered by keys and forms; the title counts it (needs chromium)',
  async () => {
    const served = await world([{ text: patch('better') }, { text: 'Then not.' }, todo, { text: 'Planned.' }])
    const { page: view, problems } = await openPage(served)
    await view.addInitScript(notificationsOfTest)
    await view.goto(`${served.serving.url}/#/inbox`)
    await view.reload()
    await view.getByText('Nothing waits for you.').waitFor()
    // the browser asks for permission after a click only
    expect(await view.evaluate('asked')).toBe(0)
    await view.getByRole('button', { name: 'Notify me' }).click()
    await view.getByRole('button', { name: 'Notifications are on' }).waitFor()
    expect(await view.evaluate('asked')).toBe(1)
    await served.post('/api/runs', { file: 'who.md' })
    const question = view.getByRole('article', { name: 'Question 1 of test' })
    await question.waitFor()
    await served.post('/api/runs', { file: 'review.md' })
    const change = view.getByRole('article', { name: 'review.md waits' })
    await change.getByText('2 of 2', { exact: true }).waitFor()
    await expect.poll(() => view.title()).toMatch(/^\(3\) Inbox · .* · Baton$/)
    expect(await view.evaluate('shown')).toEqual(['who.md has a question', 'review.md needs approval'])
    await change.getByRole('complementary', { name: 'What the answer says' }).getByText('better').waitFor()

    // an answer that the server does not take is refused at its field
    await question.getByRole('button', { name: 'Send' }).click()
    await question.getByText('name is required.').waitFor()
    await question.getByRole('textbox', { name: 'name' }).fill('Ada')
    await question.getByRole('button', { name: 'Send' }).click()
    await question.waitFor({ state: 'detached' })

    // the first key only selects; then the second hunk is declined with a remark, and the change is approved
    await view.locator('body').press('y')
    for (const key of ['j', 'j', 'e']) await view.keyboard.press(key)
    await change.getByLabel('Remark about hunk 2 (optional)').and(view.locator(':focus')).waitFor()
    await view.keyboard.type('Keep it.')
    await view.keyboard.press('Enter')
    for (const key of ['k', 'k', 'y']) await view.keyboard.press(key)
    await change.getByText('1 of 2', { exact: true }).waitFor({ state: 'detached' })
    for (const key of ['j', 'n', 'n']) await view.keyboard.press(key)
    await view.getByText('Nothing waits for you.').waitFor()
    await expect.poll(() => view.title()).toMatch(/^Inbox/)
    // what was answered is taken off the list before the run has gone on
    await expect
      .poll(() => readFileSync(join(served.folder, 'long.txt'), 'utf8'), { timeout: 20_000 })
      .toBe(long.replace('line 2\n', 'two\n'))
    expect(existsSync(join(served.folder, 'better.txt'))).toBe(false)
    // the browser reports the refused answer
    expect(problems.filter((one) => !one.includes('400'))).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a suspended run and one in a conversation are answered, and a rejected call is not shown as done (needs chromium)',
  async () => {
    const served = await world([todo, { text: 'Without.' }, { text: patch('talk') }, { text: 'As you like.' }])
    await served.run('plan.md', '--on-ask', 'suspend')
    const { page: view, problems } = await openPage(served)
    const row = view.getByRole('row').filter({ hasText: 'plan.md' })
    await row.getByText('needs approval').waitFor()
    await view.getByRole('link', { name: 'Inbox 1' }).click()
    await view.getByRole('article', { name: 'plan.md waits' }).getByRole('button', { name: 'Reject' }).click()
    await view.getByText('Nothing waits for you.').waitFor()
    await view.getByRole('link', { name: 'Runs', exact: true }).click()
    await row.getByText('done').waitFor()
    await row.click()
    await view.getByRole('article', { name: 'Answer for plan.md' }).getByText('Without.').waitFor()
    expect(await view.getByRole('button', { name: 'Undo' }).count()).toBe(0)
    await view.getByRole('tab', { name: 'Tree' }).click()
    await view.getByRole('row').filter({ hasText: 'approval' }).getByRole('img', { name: 'rejected' }).waitFor()

    const asked = { input: 'Change it', file: 'review.md' }
    const { conversationId } = (await served.post('/prompt', asked)).body
    await view.goto(`${served.serving.url}/#/conversations/${String(conversationId)}`)
    await view.getByText('requested by the main agent').first().waitFor()
    await view.getByLabel('hunk 1 of 2, line 2').uncheck()
    await view.getByLabel('Remark about hunk 1 (optional)').fill('Not this one.')
    await view.getByRole('button', { name: 'Approve 1 of 2 hunks' }).click()
    await view.getByText('Call 1 approved in part.').waitFor()
    await view
      .getByRole('article', { name: 'Approve call 2 of write?' })
      .getByRole('button', { name: 'Approve' })
      .click()
    await view.getByText('As you like.').waitFor()
    expect(readFileSync(join(served.folder, 'long.txt'), 'utf8')).toBe(long.replace('line 28\n', '28\n'))

    // a question of a server comes to a page that is open
    const begun = (await served.post('/prompt', { input: 'Ask', file: 'who.md' })).body
    await view.goto(`${served.serving.url}/#/conversations/${String(begun['conversationId'])}`)
    const question = view.getByRole('article', { name: 'Question 1 of test' })
    await question.getByRole('textbox', { name: 'name' }).fill('Ada')
    await question.getByRole('button', { name: 'Send' }).click()
    await question.waitFor({ state: 'detached' })
    await view.goto(`${served.serving.url}/#/`)
    await view.getByRole('row').filter({ hasText: 'Change it' }).filter({ hasText: 'chat' }).waitFor()
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a form asks for what a file needs, says at its field what is wrong, and starts a run again with other values (needs chromium)',
  async () => {
    const served = await world([])
    const { page: view, problems } = await openPage(served, { route: '#/files/greet.md' })
    await view.getByRole('button', { name: 'Run', exact: true }).click()
    await view.getByText('Greets somebody.').waitFor()
    expect(await view.getByLabel('name', { exact: true }).inputValue()).toBe('Ada')
    await view.getByRole('button', { name: 'Start' }).click()
    await view.getByText('language is required.').waitFor()
    await view.getByLabel('language').and(view.locator(':focus')).waitFor()
    const serious = (await violationsIn(view)).filter(({ impact }) => impact === 'serious' || impact === 'critical')
    expect(serious).toEqual([])
    await view.getByLabel('language').selectOption('de')
    await view.getByLabel('Budget in US dollars').fill('much')
    await view.getByRole('button', { name: 'Start' }).click()
    await view
      .getByText(/^Budget in US dollars /)
      .and(view.locator('.problem'))
      .waitFor()
    await view.getByLabel('Budget in US dollars').fill('0.5')
    await view.getByLabel('Dry run').selectOption('changes')
    await view.getByRole('button', { name: 'Start' }).click()
    await view.getByText('greeted', { exact: true }).waitFor()
    expect(existsSync(join(served.folder, 'out.txt'))).toBe(false)
    await view.getByRole('link', { name: 'Run again…' }).click()
    expect(await view.getByLabel('language').inputValue()).toBe('de')
    expect(await view.getByLabel('Budget in US dollars').inputValue()).toBe('0.5')
    await view.getByLabel('Dry run').selectOption('')
    await view.getByRole('button', { name: 'Start' }).click()
    await view.getByRole('button', { name: 'Undo' }).waitFor()
    expect(readFileSync(join(served.folder, 'out.txt'), 'utf8')).toBe('x\n')
    expect(problems.filter((one) => !one.includes('400'))).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'the list is searched and filtered in its address, by keys, and is as it was left after a run was looked at (needs chromium)',
  async () => {
    const served = await world([{ text: 'Here.' }])
    await served.run('ask.md')
    await served.run('greet.md', '--var', 'language=de')
    const { page: view, problems } = await openPage(served)
    await view.getByText('2 runs').waitFor()
    await view.keyboard.press('/')
    await view.keyboard.type('ask')
    await view.getByText('1 run', { exact: true }).waitFor()
    expect(new URL(view.url()).hash).toBe('#/?text=ask')
    await view.keyboard.press('Enter')
    await view.getByRole('article', { name: 'Answer for ask.md' }).waitFor()
    await view.keyboard.press('Escape')
    await view.getByText('1 run', { exact: true }).waitFor()
    expect(new URL(view.url()).hash).toBe('#/?text=ask')
    await view.keyboard.press('/')
    await view.keyboard.press('Escape')
    await view.keyboard.press('c')
    await view.getByRole('button', { name: 'Compare 1/2' }).waitFor()
    await view.goto(`${served.serving.url}/#/?state=bad&since=1h`)
    await view.getByText('No matching runs.').waitFor()
    await view.getByLabel('Filter by state').selectOption('done')
    await view.getByText('2 runs').waitFor()
    await view.getByLabel('Filter by model').fill('openai')
    await view.getByText('No matching runs.').waitFor()
    expect(problems).toEqual([])
  },
)
