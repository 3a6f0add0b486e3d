// The thread of base/worker-task.ts, a separate entry point: nothing imports it.
import { parentPort } from 'node:worker_threads'
import type { WorkerTask, WorkerMessage } from './base/worker-task.ts'
import { isBatonError, messageOf } from './base/error.ts'

type Work = (...args: never[]) => unknown

/** Tasks by name. Loading is not part of the time a task takes. */
const tasks: Readonly<Record<string, () => Promise<Work>>> = {
  'host.call': callHost,
  'host.convert': async () => (await import('./script/host/worker-call.ts')).convert,
  'changes.work': async () => (await import('./tool/changes/text-thread.ts')).doTextWork,
  'page.read': async () => (await import('./tool/toolbox/read-page.ts')).readPage,
  'template.render': async () => (await import('./prompt/render-template.ts')).renderHere,
  'schema.validate': async () => (await import('./base/json-schema.ts')).validateBySchema,
  'files.search': async () => (await import('./tool/toolbox/search-files.ts')).searchFiles,
  'pdf.pages': async () => (await import('./tool/toolbox/pdf-pages.ts')).extractPages,
  'pdf.words': async () => (await import('./tool/toolbox/pdf-words.ts')).extractText,
  'runs.compare': async () => (await import('./history/run-diff.ts')).comparisonJson,
  'runs.report': async () => (await import('./report/read-report.ts')).reportText,
  'pattern.test': async () => (await import('./base/pattern.ts')).testPattern,
}

async function callHost(): Promise<Work> {
  const [{ callPure }, { hostModules }] = await Promise.all([
    import('./script/host/worker-call.ts'),
    import('./script/host/index.ts'),
  ])
  return callPure(hostModules)
}

const parent = parentPort
if (parent === null) throw new Error('this file must be run as a worker thread')
const post = (message: WorkerMessage): void => parent.postMessage(message)

parent.on('message', (task: WorkerTask) => void perform(task))

async function perform({ name, args }: WorkerTask): Promise<void> {
  try {
    const load = tasks[name]
    if (load === undefined) throw new Error(`there is no task ${name}`)
    const work = await load()
    post({ kind: 'begun' })
    post({ kind: 'done', value: await work(...(args as never[])) })
  } catch (error) {
    post(failureOf(error))
  }
}

function failureOf(error: unknown): WorkerMessage {
  const message = messageOf(error)
  if (!isBatonError(error)) return { kind: 'failed', message }
  const { code, hint, place, trail, diff } = error
  return { kind: 'failed', message, code, details: { hint, place, trail, diff } }
}
