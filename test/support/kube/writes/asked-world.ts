/** A server of writes in memory that is asked as a kube-apiserver is, by method and path, with all
 *  plugins of admission: for episodes that were recorded from one. */

import { keyPairProblem } from '../../../../lib/go/x509/key-pairs.ts'
import { createAdmission } from '../../../../lib/writes/admission/chain.ts'
import { runWrite } from '../../../../lib/writes/operations/run-write.ts'
import type {
  WriteClock,
  Written,
  WriteSession,
} from '../../../../lib/writes/operations/session.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { textFromTree } from '../../../../lib/go/json/tree.ts'
import { parseQuery, type Verb } from '../../../../lib/kube/request/request.ts'
import { scaleBody } from '../../../../lib/kube/scale.ts'
import { StatusError, statusJson } from '../../../../lib/kube/status.ts'
import { successJson } from '../../../../lib/simulator/api/success.ts'
import { MemoryStore, sessionsOver } from './memory-store.ts'
import { StoredAccess } from './stored-access.ts'

export interface AskedWrite {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly type?: string | undefined
  readonly body?: string | undefined
  /** Who asks; the administrator if it is left out. */
  readonly user?: string | undefined
}

export interface AskedWorldParts {
  readonly store?: MemoryStore
  readonly clock?: WriteClock
}

export interface AnsweredWrite {
  readonly status: number
  readonly body: unknown
  readonly warnings: readonly string[]
}

const verbs: Readonly<Record<string, Verb>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

const plain = {
  encoding: 'json',
  rendering: 'object',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
  now: 0,
} as const

/** The user whose requests were recorded, where they do not say who. */
const admin = {
  user: 'admin',
  uid: 'admin-uid',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
}

const other = { uid: '', groups: ['system:authenticated'], extra: {} }

/** Nothing takes any time, and timers go off at once. */
const still: WriteClock = {
  wallMs: () => Date.parse('2026-01-01T00:00:00Z'),
  monotonicMs: () => 0,
  yield: () => Promise.resolve(),
  setTimer: (_, run) => {
    const immediate = setImmediate(run)
    return () => clearImmediate(immediate)
  },
}

export class AskedWorld {
  readonly store: MemoryStore
  protected readonly open: ReturnType<typeof sessionsOver>
  #count = 0

  constructor({ store = new MemoryStore(), clock = still }: AskedWorldParts = {}) {
    this.store = store
    const next = (): number => ++this.#count
    const services = {
      store,
      access: new StoredAccess(store.entries),
      clock,
      admission: createAdmission({
        choice: { enabled: [], disabled: [] },
        storeOf: () => undefined,
      }),
      uid: () => `00000000-0000-4000-8000-${String(next()).padStart(12, '0')}`,
      nameSuffix: () => 'abcde',
      keyPairProblem,
      allocator: { address: () => '10.96.0.7', port: () => 30_000 + next() },
      numbers: {
        hasAddress: () => false,
        hasPort: () => false,
        isInRange: () => true,
        placed: (address: string) => address,
      },
    }
    this.open = sessionsOver(services, store.entries)
  }

  async ask({ method, path, type, body = '', user: name }: AskedWrite): Promise<AnsweredWrite> {
    const [plainPath = '', query = ''] = path.split('?')
    const user = name === undefined ? admin : { ...other, user: name }
    const session = this.open({
      ...placeOf(plainPath),
      verb: verbs[method] ?? 'create',
      manager: 'm/1.0',
      user,
    })
    const warnings = (): string[] => [...session.resource.warnings, ...session.warnings]
    try {
      const written = await runWrite(session, {
        verb: verbs[method] ?? 'create',
        query: parseQuery(query),
        contentType: type,
        readBody: () => Promise.resolve(Buffer.from(body)),
      })
      const status = written.code
      return { status, body: shownOf(session, written), warnings: warnings() }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const { status } = error
      const body: unknown = JSON.parse(statusJson(status))
      return { status: status.code, body, warnings: warnings() }
    }
  }
}

function shownOf(session: WriteSession, written: Written): unknown {
  if (written.type === 'success') return JSON.parse(successJson(written))
  if (written.type === 'tree') return JSON.parse(textFromTree(written.object))
  const { entry } = written
  if (written.type === 'object') return JSON.parse(textFromTree(session.treeOf(entry)))
  const { encoder, resource } = session
  const body = scaleBody(resource, { isPretty: false }, { encoder, form: plain, entry })
  if (body instanceof NotExact) throw new Error(body.reason)
  return JSON.parse(Buffer.from(body).toString())
}

/** `/apis/apps/v1/namespaces/ns/deployments/a/scale` in its parts. */
function placeOf(path: string): Parameters<ReturnType<typeof sessionsOver>>[0] {
  const [, first, ...rest] = path.split('/')
  const group = first === 'api' ? '' : (rest.shift() ?? '')
  const version = rest.shift() ?? ''
  const isNamespaced = rest[0] === 'namespaces' && !['status', 'finalize'].includes(rest[2] ?? '')
  const [namespace = ''] = isNamespaced && rest.length > 2 ? rest.splice(0, 2).slice(1) : []
  const [resource = '', name = '', subresource = ''] = rest
  const own = resource === 'namespaces' ? name : namespace
  return { group, version, resource, name, subresource, namespace: own }
}
