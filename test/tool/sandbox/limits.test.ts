import { describe, expect, it } from 'vitest'
import { hasBox, inBox } from '../../helpers/box.ts'

describe.skipIf(!hasBox)('limits of a box (needs bwrap and user namespaces)', () => {
  it('end a box with too many processes', async () => {
    const line = 'i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; echo made; wait'
    const end = await inBox(line, { rights: { processes: 40 } })
    expect(end).toMatchObject({ code: 137, stopped: 'it had more than 40 processes ([sandbox] processes)' })
  })

  it('end a box that uses too much memory', async () => {
    const line = `${process.execPath} -e "const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 5)"`
    const end = await inBox(line, { rights: { memory_mb: 300 } })
    expect(end.stopped).toBe('it used more than 300 MiB of memory ([sandbox] memory_mb)')
  })

  it('limit the size of files and private folders', async () => {
    const lines = [
      'head -c 20000000 /dev/zero > /tmp/a',
      'head -c 20000000 /dev/zero > big.bin',
      'head -c 5000000 /dev/zero > /dev/shm/a',
    ]
    const end = await inBox(lines.map((line) => `(${line}) || echo NO`).join('; '), {
      rights: { tmp_mb: 8, file_mb: 16 },
    })
    expect(end.out).toBe('NO\nNO\nNO\n')
    expect(end.err.match(/No space left on device/g)).toHaveLength(2)
  })

  it('leave nothing running behind', async () => {
    const mark = `7${Math.floor(Math.random() * 1e6)}`
    await inBox(`setsid sleep ${mark} & nohup sleep ${mark} >/dev/null 2>&1 & (sleep ${mark} &) ; true`)
    const end = await inBox('ps ax -o args || true', { rights: { mode: 'danger-full-access' } })
    expect(end.out).not.toContain(`sleep ${mark}`)
  })
})
