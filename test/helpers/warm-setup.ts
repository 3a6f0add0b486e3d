import { afterAll } from 'vitest'
import { useWarmCommand } from './baton.ts'

// For the end-to-end tests: the runs of one test file share a process (warm-command.ts).
const end = useWarmCommand()
afterAll(end)
