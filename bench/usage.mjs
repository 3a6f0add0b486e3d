// Loaded with --import into a measured process: writes its resource usage to BENCH_USAGE_FILE as JSON: peak resident
// memory in kilobytes, CPU time of all its threads in milliseconds.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  writeFileSync(process.env.BENCH_USAGE_FILE, JSON.stringify({ peak: peak(), cpu: (user + system) / 1000 }))
})

/** On Linux, maxRSS includes the memory of the parent if that was larger; VmHWM does not. */
function peak() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
}
