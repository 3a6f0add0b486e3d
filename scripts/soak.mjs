// Tries every fault at every point of the scenario of docs/durability.md; exits 1 when a promise did not hold.
//   npm run soak                 all of it, about half an hour on two cores
//   npm run soak -- F1           only faults whose line in the table holds this text
//   npm run soak -- F3 --seed 7  other random choices
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'

const { values, positionals } = parseArgs({ options: { seed: { type: 'string' } }, allowPositionals: true })
register()
const { soak } = await import('../test/durable/soak/soak.ts')
const broken = await soak({
  only: positionals.join(' '),
  seed: Number(values.seed ?? 1),
  write: (text) => process.stdout.write(text),
})
process.exitCode = broken === 0 ? 0 : 1
