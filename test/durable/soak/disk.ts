import { spawnSync } from 'node:child_process'
import { makeWorld } from '../../helpers/durable/scenario.ts'
import { tryWith } from '../../helpers/durable/trial.ts'
import { atOnce, type Fault, numbersTo, trials } from './fault.ts'

const codes = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'EACCES']

/** One operation on the journal fails, once or permanently, or a write is short. */
export const failingDisk: Fault = {
  id: 'F4',
  name: 'ENOSPC, EDQUOT, EIO, EROFS, EMFILE, EACCES, short write at every operation',
  points: (context) =>
    trials(
      numbersTo(context.operations).flatMap((at) => {
        const code = codes[at % codes.length] ?? 'EIO'
        return (['fail', 'failing', 'short'] as const).map((when) => ({
          at: `${when} ${code} at ${at}`,
          starts: [{ disturb: { at, when, code } }],
        }))
      }),
      context,
    ),
}

/** The journal is on a real file system that is full; it has space again for the resume. */
export const fullDisk: Fault = {
  id: 'F4',
  name: 'a real file system of 20 to 180 kB that fills up',
  points: (context) =>
    atOnce(canMount() ? numbersTo(9).map((number) => number * 20) : [], context, async (kilobytes) => {
      const world = makeWorld()
      mount(['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', world.home])
      try {
        const makeRoom = (): void => mount(['-o', 'remount,size=16m', world.home])
        const starts = [{}, { onStart: makeRoom }]
        const { problems, stops } = await tryWith(starts, context, world)
        return { at: `${kilobytes} kB`, problems, isHit: stops > 0 }
      } finally {
        spawnSync('umount', [world.home])
      }
    }),
}

function canMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0
}

function mount(args: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`)
}
