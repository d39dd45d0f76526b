/** Requests in the name of another user: which one the headers ask for, and whether the sender may.
 *
 *  Since 1.36 kube-apiserver tries four constrained modes before the old one, which allows
 *  everything that the other user may do (KEP 5284): in each the sender must be allowed the request
 *  itself (`impersonate-on:MODE:VERB`), and the user, by `impersonate:MODE`. It tries the mode that
 *  last succeeded for the sender first, and a refusal is that of the first mode that was tried. */

import { LRUCache } from 'lru-cache'
import { goQuote } from '@watchglass/go'
import {
  type Attributes,
  badRequest,
  forbidden,
  forbiddenPath,
  type Identity,
  type ResourceAttributes,
  StatusError,
} from '@watchglass/kube'
import { withAuthenticated } from '@watchglass/cache'
import { administrators, type RbacDecision, dnsLabel, dnsSubdomain } from '@watchglass/writes'

/** The user whom the headers name; undefined if they name none. Refuses groups and the rest without
 *  a user. */
export function wantedUser(rawHeaders: readonly string[]): Identity | undefined {
  let [user, uid] = ['', '']
  const groups: string[] = []
  const extra = new Map<string, string[]>()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!name.startsWith('impersonate-')) continue
    // Node gives values as bytes.
    const value = Buffer.from(rawHeaders[i + 1] ?? '', 'latin1').toString('utf8')
    if (name === 'impersonate-user') user ||= value
    else if (name === 'impersonate-uid') uid ||= value
    else if (name === 'impersonate-group') groups.push(value)
    else if (name.startsWith(extraPrefix)) {
      const key = unescaped(name.slice(extraPrefix.length))
      extra.set(key, [...(extra.get(key) ?? []), value])
    }
  }
  if (user !== '') return { user, uid, groups, extra: Object.fromEntries(extra) }
  if (uid === '' && groups.length === 0 && extra.size === 0) return undefined
  throw badRequest(`requested ${goText({ uid, groups, extra })} without impersonating a user name`)
}

const extraPrefix = 'impersonate-extra-'

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** As Go prints the struct. */
function goText({
  uid,
  groups,
  extra,
}: {
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}): string {
  const list = (texts: readonly string[]): string => `[]string{${texts.map(goQuote).join(', ')}}`
  const entries = [...extra].sort(([a], [b]) => (a < b ? -1 : 1))
  const members = entries.map(([key, values]) => `${goQuote(key)}:${list(values)}`)
  const extraText = extra.size === 0 ? '(nil)' : `{${members.join(', ')}}`
  const groupsText = groups.length === 0 ? '[]string(nil)' : list(groups)
  return `&user.DefaultInfo{Name:"", UID:${goQuote(uid)}, Groups:${groupsText}, Extra:map[string][]string${extraText}}`
}

/** May a user do that? */
export type Authorize = (user: Identity, attributes: Attributes) => RbacDecision

/** A request of one user as another one. */
export interface ImpersonationRequest {
  readonly sender: Identity
  readonly wanted: Identity
  readonly attributes: Attributes
}

type Mode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | 'legacy'

const modes: readonly Mode[] = [
  'associated-node',
  'arbitrary-node',
  'serviceaccount',
  'user-info',
  'legacy',
]

/** Senders whose last mode is remembered. */
const sendersMax = 10_000

export class Impersonation {
  readonly #authorize: Authorize
  readonly #lastModes = new LRUCache<string, Mode>({ max: sendersMax })

  constructor(authorize: Authorize) {
    this.#authorize = authorize
  }

  /** The user as whom the request goes on. Refuses what the sender may not.
   *  @param isConstrained the version has constrained modes */
  impersonated(request: ImpersonationRequest, isConstrained: boolean): Identity {
    const sender = JSON.stringify([request.sender.user, request.sender.groups])
    const last = this.#lastModes.get(sender)
    const known = isConstrained ? modes : (['legacy'] as const)
    const ordered = last === undefined ? known : [last, ...known.filter(mode => mode !== last)]
    let refusal: StatusError | undefined
    for (const mode of ordered) {
      if (!isMeantFor(mode, request)) continue
      try {
        const user = this.#inMode(mode, request)
        this.#lastModes.set(sender, mode)
        return user
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        refusal ??= error
      }
    }
    throw refusal ?? badRequest('all impersonation modes failed')
  }

  #inMode(mode: Mode, { sender, wanted, attributes }: ImpersonationRequest): Identity {
    if (mode === 'legacy') return this.#asUser(mode, 'impersonate', sender, wanted)
    const who = mode === 'associated-node' ? withoutExtra(sender) : sender
    this.#check(who, { ...attributes, verb: `impersonate-on:${mode}:${attributes.verb}` })
    return this.#asUser(mode, `impersonate:${mode}`, who, wanted)
  }

  #asUser(mode: Mode, verb: string, sender: Identity, wanted: Identity): Identity {
    const check = (attributes: Partial<ResourceAttributes>): void =>
      this.#check(sender, { ...noAttributes, verb, ...attributes })
    const isConstrained = mode !== 'legacy'
    const group = isConstrained ? authentication : ''
    const { user, uid, groups, extra } = wanted
    const node = isConstrained ? nodeOf(user) : undefined
    const account = accountOf(user)
    let given = groups
    if (node !== undefined) {
      given = ['system:nodes']
      const name = mode === 'associated-node' ? '*' : node
      check({ group, resource: 'nodes', name })
    } else if (account === undefined) check({ group, resource: 'users', name: user })
    else {
      if (groups.length === 0) given = groupsOfAccounts(account.namespace)
      check({ group, resource: 'serviceaccounts', ...account })
    }
    if (uid !== '') check({ group: authentication, resource: 'uids', name: uid })
    if (isConstrained && groups.includes(administrators)) {
      throw forbidden({
        ...noAttributes,
        user: sender.user,
        verb,
        group,
        resource: 'groups',
        name: administrators,
        reason: 'impersonating the system:masters group is not allowed',
      })
    }
    for (const name of groups) check({ group, resource: 'groups', name })
    for (const [subresource, values] of Object.entries(extra)) {
      for (const name of values) {
        check({ group: authentication, resource: 'userextras', subresource, name })
      }
    }
    return { user, uid, groups: withKnown(user, given), extra }
  }

  #check(sender: Identity, attributes: Attributes): void {
    const { isAllowed, reason } = this.#authorize(sender, attributes)
    if (isAllowed) return
    throw 'path' in attributes
      ? forbiddenPath(sender.user, attributes.verb, attributes.path, reason)
      : forbidden({ ...attributes, user: sender.user, reason })
  }
}

const authentication = 'authentication.k8s.io'

const noAttributes: ResourceAttributes = {
  verb: '',
  group: '',
  version: 'v1',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  fields: [],
  labels: [],
}

function isMeantFor(mode: Mode, { sender, wanted }: ImpersonationRequest): boolean {
  const { user, uid, groups, extra } = wanted
  const isPlain = uid === '' && groups.length === 0 && Object.keys(extra).length === 0
  const node = nodeOf(user)
  switch (mode) {
    case 'associated-node': {
      const [own, ...more] = sender.extra['authentication.kubernetes.io/node-name'] ?? []
      const isOwn = node !== undefined && own === node && more.length === 0
      return isPlain && isOwn && accountOf(sender.user) !== undefined
    }
    case 'arbitrary-node':
      return isPlain && node !== undefined
    case 'serviceaccount':
      return isPlain && accountOf(user) !== undefined
    case 'user-info':
      return node === undefined && accountOf(user) === undefined
    case 'legacy':
      return true
  }
}

function withoutExtra(user: Identity): Identity {
  return { ...user, extra: {} }
}

function withKnown(user: string, groups: readonly string[]): readonly string[] {
  const unknown = 'system:unauthenticated'
  if (user !== 'system:anonymous') return withAuthenticated(user, groups)
  return groups.includes(unknown) ? groups : [...groups, unknown]
}

/** The name of the node of a user. */
function nodeOf(user: string): string | undefined {
  const prefix = 'system:node:'
  const name = user.slice(prefix.length)
  return user.startsWith(prefix) && dnsSubdomain(name).length === 0 ? name : undefined
}

/** The service account of a user. */
export function accountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const prefix = 'system:serviceaccount:'
  const [namespace = '', name = '', ...more] = user.slice(prefix.length).split(':')
  const isName = dnsLabel(namespace).length === 0 && dnsSubdomain(name).length === 0
  return user.startsWith(prefix) && isName && more.length === 0 ? { namespace, name } : undefined
}

/** The groups of every service account in a namespace. */
export function groupsOfAccounts(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}
