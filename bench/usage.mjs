// Loaded with --import into a measured process: leaves in BENCH_USAGE_FILE what it has used, as JSON: peak resident
// memory in kilobytes, processor time of all its threads in milliseconds.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  writeFileSync(process.env.BENCH_USAGE_FILE, JSON.stringify({ peak: peak(), cpu: (user + system) / 1000 }))
})

/** Linux counts memory of the parent into maxRSS when that was larger, but not into VmHWM. */
function peak() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
}
