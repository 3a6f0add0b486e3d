// Loaded with --import into a measured process: leaves its peak resident memory, in kilobytes, in BENCH_PEAK_FILE.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => writeFileSync(process.env.BENCH_PEAK_FILE, String(peak())))

/** Linux counts memory of the parent into maxRSS when that was larger, but not into VmHWM. */
function peak() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
}
