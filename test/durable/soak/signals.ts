import { once } from '../../helpers/durable/play.ts'
import { type Fault, numbersTo, trials } from './fault.ts'

/** Kills that are unrelated to any operation of the process. */
export const randomKills: Fault = {
  id: 'F3',
  name: 'SIGKILL from outside at a random time',
  points: (context) =>
    trials(
      numbersTo(50).map(() => {
        const delay = 150 + Math.floor(context.random() * 600)
        return { at: `${delay} ms`, starts: [{ onStart: ({ kill }) => void setTimeout(kill, delay, 'SIGKILL') }] }
      }),
      context,
    ),
}

const moments: Readonly<Record<string, string>> = {
  start: '"type":"run.started"',
  pre: '"stage":"pre"',
  'before the first call': '"type":"item.started"',
  pre_task: '"stage":"pre_task"',
  'an answer': '"type":"item.completed"',
  'a changed file': '"type":"file.changed"',
  post_task: '"stage":"post_task"',
  'the tenth task': 'task/9/ask',
  post: '"stage":"post"',
  'the last print': '"text":"finished"',
}

/** The user or the system stops a run at each stage. */
export const stopSignals: Fault = {
  id: 'F12',
  name: 'SIGINT once and twice, SIGTERM, SIGHUP, a closed pipe, at each stage',
  points: (context) =>
    trials(
      Object.entries(moments).flatMap(([moment, text]) => [
        ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => ({
          at: `${signal} at ${moment}`,
          starts: [{ onOutput: once(text, ({ kill }) => kill(signal)) }],
        })),
        {
          at: `SIGINT twice at ${moment}`,
          starts: [
            {
              onOutput: once(text, ({ kill }) => {
                kill('SIGINT')
                kill('SIGINT')
              }),
            },
          ],
        },
        { at: `closed pipe at ${moment}`, starts: [{ onOutput: once(text, ({ hangUp }) => hangUp()) }] },
      ]),
      context,
    ),
}
