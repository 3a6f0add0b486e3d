import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Json } from '../../base/json.ts'
import { secretOf, type Trigger } from '../../config/triggers.ts'
import type { Environment } from '../../journal/secrets.ts'
import { Refusal, refusalAnswer } from '../refusal.ts'
import type { AcceptedHooks, TriggerEvent, TriggerMemory } from './memory.ts'
import { type Fired, mayStart } from './starts.ts'

/*
 * Webhooks, POST /hooks/NAME. They are signed like the ones of [notify]: `baton-signature: sha256=HEX` is the HMAC-SHA-256 of
 * `TIME.BODY`, where TIME is the header `baton-time`, in seconds since 1970. Each signature is accepted once, and only for
 * some minutes; `baton-delivery`, if there is one, is the same for all tries of a sender.
 */

/** How far the time of a request may be from that of this machine. */
const mostSecondsOff = 300

/** Above this number of accepted webhooks the oldest are forgotten, and what was sent before them is refused. */
const mostKept = 10_000

const signatureForm = /^sha256=[0-9a-f]{64}$/
const timeForm = /^[1-9]\d{0,11}$/
const deliveryForm = /^[\x21-\x7e]{1,200}$/

type Head = Pick<IncomingMessage, 'headersDistinct'>

export interface HooksOptions {
  /** A trigger as it is written now; undefined: there is none of this name. */
  readonly current: (name: string) => Trigger | undefined
  readonly env: Environment
  readonly memory: TriggerMemory
  readonly fire: (trigger: Trigger, event: TriggerEvent) => Promise<Fired>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The door for webhooks. */
export interface Hooks {
  /**
   * Decides by the head of a request, before its body is read.
   * @throws Refusal 404 if there is no such hook, 401 for headers that cannot be right
   */
  readonly admit: (name: string, head: Head) => void
  /** Checks the signature, and starts the trigger. Never rejects. */
  readonly answer: (request: Request) => Promise<Response>
}

/** For a server without triggers, or one whose triggers another process follows. */
export function closedHooks(refusal: Refusal): Hooks {
  return {
    admit() {
      throw refusal
    },
    answer: async () => refusalAnswer(refusal),
  }
}

export function createHooks({ current, env, memory, fire, now }: HooksOptions): Hooks {
  let accepted = memory.hooks()

  function hookOf(name: string): { readonly trigger: Trigger; readonly secret: string } {
    const trigger = current(name)
    if (trigger?.source.kind === 'webhook' && mayStart(trigger)) {
      const secret = secretOf(trigger.source, env)
      if (secret !== undefined) return { trigger, secret }
    }
    throw new Refusal(404, 'no such hook')
  }

  /**
   * Accepts a signature once, and a delivery once. Returns what forgets both; undefined: the delivery was accepted.
   * @throws Refusal 409 for a signature that was accepted, or could have been
   */
  function acceptOnce({ signature, time, delivery }: SignedHead, name: string): (() => void) | undefined {
    if (time <= accepted.floor || Object.hasOwn(accepted.signatures, signature)) {
      throw new Refusal(409, 'this request was accepted before, or is older than those that were', {
        hint: 'Sign each request anew, with its time.',
      })
    }
    const key = `${name} ${delivery}`
    const isNew = delivery === '' || !Object.hasOwn(accepted.deliveries, key)
    const deliveries = delivery === '' ? accepted.deliveries : { ...accepted.deliveries, [key]: time }
    keep({ ...accepted, signatures: { ...accepted.signatures, [signature]: time }, deliveries })
    if (!isNew) return undefined
    return () => {
      const { [key]: _, ...otherDeliveries } = accepted.deliveries
      const { [signature]: __, ...otherSignatures } = accepted.signatures
      keep({ ...accepted, deliveries: otherDeliveries, signatures: otherSignatures })
    }
  }

  function keep(next: AcceptedHooks): void {
    const pruned = withoutOld(next, Math.floor(now() / 1000))
    try {
      memory.keepHooks(pruned)
    } catch {
      throw new Refusal(503, 'the request cannot be recorded, so it was not accepted')
    }
    accepted = pruned
  }

  async function answer(request: Request): Promise<Response> {
    const name = hookName(new URL(request.url).pathname) ?? ''
    const { trigger, secret } = hookOf(name)
    const head = signedHead((header) => request.headers.get(header) ?? '', now())
    const body = Buffer.from(await request.arrayBuffer())
    if (!isSigned(head, { body, secret })) throw unsigned()
    const payload = parsed(body)
    const forget = acceptOnce(head, name)
    if (forget === undefined) return Response.json({ state: 'duplicate' })
    const about = head.delivery === '' ? '' : `delivery ${head.delivery}`
    const fired = await fire(trigger, { cause: 'webhook', about, payload })
    if (fired.kind === 'failed') {
      // the sender may try again
      forget()
      throw notStarted
    }
    if (fired.kind === 'started') return Response.json({ state: 'started', id: fired.run }, { status: 202 })
    if (fired.kind === 'queued') return Response.json({ state: 'queued' }, { status: 202 })
    return Response.json({ state: 'skipped', reason: fired.message })
  }

  return {
    admit(name, { headersDistinct }) {
      hookOf(name)
      signedHead((header) => {
        const values = headersDistinct[header] ?? []
        if (values.length > 1) throw new Refusal(400, `the header ${header} was sent more than once`)
        return values[0] ?? ''
      }, now())
    },
    answer: (request) => answer(request).catch(refusalAnswer),
  }
}

/** The hook that a path names, as it was sent: nothing in it is decoded. */
export function hookName(path: string): string | undefined {
  return /^\/hooks\/([A-Za-z0-9][A-Za-z0-9._-]{0,63})$/.exec(path)?.[1]
}

interface SignedHead {
  readonly signature: string
  /** Seconds since 1970. */
  readonly time: number
  /** Empty: none. */
  readonly delivery: string
}

/** @throws Refusal 401 */
function signedHead(header: (name: string) => string, now: number): SignedHead {
  const signature = header('baton-signature').toLowerCase()
  const sent = header('baton-time')
  const delivery = header('baton-delivery')
  if (!signatureForm.test(signature) || !timeForm.test(sent)) throw unsigned()
  if (delivery !== '' && !deliveryForm.test(delivery)) throw new Refusal(400, 'baton-delivery is not an id')
  if (Math.abs(Number(sent) - now / 1000) > mostSecondsOff) {
    throw new Refusal(401, `baton-time is more than ${mostSecondsOff / 60} minutes from the time of this machine`, {
      hint: 'It is the time at which the request was signed, in seconds since 1970.',
    })
  }
  return { signature, time: Number(sent), delivery }
}

/** Compares in constant time. */
function isSigned(
  { signature, time }: SignedHead,
  { body, secret }: { readonly body: Buffer; readonly secret: string },
): boolean {
  const right = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return timingSafeEqual(right, Buffer.from(signature.slice('sha256='.length), 'hex'))
}

function unsigned(): Refusal {
  return new Refusal(401, 'missing or wrong signature', {
    hint: 'Send the headers baton-time, in seconds since 1970, and baton-signature: sha256=HEX, the HMAC-SHA-256 of "TIME.BODY".',
  })
}

/** @throws Refusal 400 */
function parsed(body: Buffer): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json
  } catch {
    throw new Refusal(400, 'the body is not valid JSON')
  }
}

const notStarted = new Refusal(503, 'the run could not be started', {
  hint: 'The page of baton serve says why, under Triggers.',
})

/** What was sent up to the floor is refused whether it is known or not, so that forgetting never accepts twice. */
function withoutOld({ floor, signatures, deliveries }: AcceptedHooks, now: number): AcceptedHooks {
  const times = Object.values(signatures).toSorted((one, other) => one - other)
  const overflow = times[times.length - mostKept - 1] ?? 0
  const oldest = Math.max(floor, now - mostSecondsOff - 1, overflow)
  const recent = (entries: Readonly<Record<string, number>>, from: number): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(entries).filter(([, time]) => time > from))
  return {
    floor: oldest,
    signatures: recent(signatures, oldest),
    deliveries: recent(deliveries, Math.max(overflow, now - mostSecondsOfTries)),
  }
}

/** How long a sender may try a delivery again. */
const mostSecondsOfTries = 24 * 3600
