import { afterAll } from 'vitest'
import { useWarmCommand } from './baton.ts'

// For the end-to-end tests: runs share a process (warm-command.ts).
const rest = useWarmCommand()
afterAll(rest)
