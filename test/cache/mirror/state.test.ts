import t from 'tap'
import {
  isServed,
  type KeyspaceEvent,
  type KeyspaceState,
  transition,
} from '../../../lib/cache/mirror/state.ts'

const table: Readonly<Record<KeyspaceState, Readonly<Record<KeyspaceEvent, KeyspaceState>>>> = {
  starting: {
    restored: 'catching-up',
    'caught-up': 'starting',
    disconnected: 'starting',
    distrusted: 'starting',
    'new-epoch': 'starting',
  },
  'catching-up': {
    restored: 'catching-up',
    'caught-up': 'ready',
    disconnected: 'cut-off',
    distrusted: 'suspect',
    'new-epoch': 'starting',
  },
  ready: {
    restored: 'ready',
    'caught-up': 'ready',
    disconnected: 'cut-off',
    distrusted: 'suspect',
    'new-epoch': 'starting',
  },
  'cut-off': {
    restored: 'cut-off',
    'caught-up': 'ready',
    disconnected: 'cut-off',
    distrusted: 'suspect',
    'new-epoch': 'starting',
  },
  suspect: {
    restored: 'catching-up',
    'caught-up': 'suspect',
    disconnected: 'suspect',
    distrusted: 'suspect',
    'new-epoch': 'starting',
  },
}

t.test('every event leads from every state where the diagram says', async t => {
  for (const [state, events] of Object.entries(table)) {
    for (const [event, next] of Object.entries(events)) {
      const got = transition(state as KeyspaceState, event as KeyspaceEvent)
      t.equal(got, next, `${state} and ${event}`)
    }
  }
})

t.test('nothing is served from a keyspace that is starting or suspect', async t => {
  const served = Object.keys(table).filter(state => isServed(state as KeyspaceState))
  t.same(served, ['catching-up', 'ready', 'cut-off'])
})
