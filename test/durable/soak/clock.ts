import { type Fault, trials } from './fault.ts'

const hour = 3_600_000
const jumps: Readonly<Record<string, readonly number[]>> = {
  'an hour back at each record': [-hour],
  'ten years back once, then on': [-87_600 * hour, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  'a day on at each record': [24 * hour],
  'back and forth': [hour, -2 * hour, 3 * hour, -2 * hour],
  'daylight saving': [0, 0, 0, 0, 0, 0, -hour, 0, 0, 0, 0, 0, hour],
}

/** The wall clock jumps while a run is recorded, and while it is resumed. */
export const jumpingClock: Fault = {
  id: 'F7',
  name: 'the clock jumps at each operation, in the run and in its resume',
  points: (context) =>
    trials(
      Object.entries(jumps).flatMap(([name, shifts]) =>
        [20, 45, 70, 95].map((at) => ({
          at: `${name}, killed at ${at}`,
          starts: [{ disturb: { shifts, at, when: 'after' as const } }, { disturb: { shifts } }],
        })),
      ),
      context,
    ),
}
