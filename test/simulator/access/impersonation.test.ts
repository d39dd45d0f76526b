import t from 'tap'
import {
  type Authorize,
  Impersonation,
  wantedUser,
} from '../../../lib/simulator/access/impersonation.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { StatusError } from '../../../lib/kube/status.ts'

const sender: Identity = { user: 'erin', uid: '', groups: [], extra: {} }
const attributes = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: '',
  fields: [],
  labels: [],
}

/** Allows what is in the list, as `VERB GROUP/RESOURCE/SUBRESOURCE NAME`. */
function allowing(...allowed: readonly string[]): Authorize {
  return (_, asked) => {
    const text =
      'path' in asked
        ? `${asked.verb} ${asked.path}`
        : `${asked.verb} ${asked.group}/${asked.resource}/${asked.subresource} ${asked.name}`
    return { isAllowed: allowed.includes(text.trim()), reason: '' }
  }
}

function wanted(parts: Partial<Identity>): Identity {
  return { user: '', uid: '', groups: [], extra: {}, ...parts }
}

function outcome(act: () => Identity): unknown {
  try {
    return act()
  } catch (error) {
    if (error instanceof StatusError) return error.message
    throw error
  }
}

t.test('headers name a user, and nothing else without one', async t => {
  t.equal(wantedUser(['Accept', '*/*']), undefined)
  t.strictSame(
    wantedUser(
      'Impersonate-User zoe impersonate-group g1 IMPERSONATE-GROUP g2,g3 Impersonate-Uid u Impersonate-Extra-Some%2fKey a Impersonate-Extra-some%2Fkey b Impersonate-User other'.split(
        ' ',
      ),
    ),
    { user: 'zoe', uid: 'u', groups: ['g1', 'g2,g3'], extra: { 'some/key': ['a', 'b'] } },
  )
  for (const [headers, parts] of [
    [['Impersonate-Uid', 'u'], 'UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)'],
    [
      ['Impersonate-Group', 'g', 'Impersonate-Extra-B', '1', 'Impersonate-Extra-A', '2'],
      'UID:"", Groups:[]string{"g"}, Extra:map[string][]string{"a":[]string{"2"}, "b":[]string{"1"}}',
    ],
  ] as const) {
    t.throws(() => wantedUser(headers), {
      message: `requested &user.DefaultInfo{Name:"", ${parts}} without impersonating a user name`,
    })
  }
})

t.test('every part of the other user must be allowed', async t => {
  const bob = 'impersonate /users/ bob'
  const denied = (what: string): string => `${what} at the cluster scope`
  const rows: readonly [readonly string[], Partial<Identity>, unknown][] = [
    [[bob], { user: 'bob' }, wanted({ user: 'bob', groups: ['system:authenticated'] })],
    [
      [],
      { user: 'bob' },
      denied(
        'users "bob" is forbidden: User "erin" cannot impersonate resource "users" in API group ""',
      ),
    ],
    [
      [bob],
      { user: 'bob', groups: ['system:masters'] },
      denied(
        'groups "system:masters" is forbidden: User "erin" cannot impersonate resource "groups" in API group ""',
      ),
    ],
    [
      [bob, 'impersonate /groups/ dev'],
      { user: 'bob', groups: ['dev'] },
      wanted({ user: 'bob', groups: ['dev', 'system:authenticated'] }),
    ],
    [
      [bob],
      { user: 'bob', extra: { scopes: ['view'] } },
      denied(
        'userextras.authentication.k8s.io "view" is forbidden: User "erin" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io"',
      ),
    ],
    [
      ['impersonate /serviceaccounts/ bot'],
      { user: 'system:serviceaccount:a:bot' },
      wanted({
        user: 'system:serviceaccount:a:bot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
      }),
    ],
    [
      ['impersonate /users/ system:anonymous'],
      { user: 'system:anonymous' },
      wanted({ user: 'system:anonymous', groups: ['system:unauthenticated'] }),
    ],
  ]
  for (const [allowed, parts, expected] of rows) {
    const impersonation = new Impersonation(allowing(...allowed))
    const request = { sender, wanted: wanted(parts), attributes }
    t.strictSame(
      outcome(() => impersonation.impersonated(request, false)),
      expected,
      JSON.stringify(parts),
    )
  }
})

t.test('a constrained mode allows one user and one verb, and never administrators', async t => {
  const impersonation = new Impersonation(
    allowing(
      'impersonate-on:user-info:list /pods/',
      'impersonate:user-info authentication.k8s.io/users/ bob',
      'impersonate:user-info authentication.k8s.io/groups/ system:masters',
      'impersonate-on:arbitrary-node:list /pods/',
      'impersonate:arbitrary-node authentication.k8s.io/nodes/ n1',
    ),
  )
  const asked = (parts: Partial<Identity>, verb = 'list'): unknown =>
    outcome(() =>
      impersonation.impersonated(
        { sender, wanted: wanted(parts), attributes: { ...attributes, verb } },
        true,
      ),
    )
  t.match(asked({ user: 'bob' }), { user: 'bob' })
  t.match(asked({ user: 'bob' }, 'get'), /cannot impersonate-on:user-info:get resource "pods"/)
  t.match(asked({ user: 'ann' }), /users.authentication.k8s.io "ann" is forbidden/)
  t.match(
    asked({ user: 'bob', groups: ['system:masters'] }),
    /impersonating the system:masters group is not allowed/,
  )
  t.match(asked({ user: 'system:node:n1' }), { groups: ['system:nodes', 'system:authenticated'] })
  t.match(asked({ user: 'system:node:n2' }), /nodes.authentication.k8s.io "n2" is forbidden/)
})
