import t from 'tap'
import { LinkedAbort } from '../../lib/base/linked-abort.ts'

t.test('a linked signal is aborted with its parent, or alone', async t => {
  const parent = new AbortController()
  const one = new LinkedAbort(parent.signal)
  const other = new LinkedAbort(parent.signal)
  one.abort()
  t.ok(one.signal.aborted)
  t.notOk(other.signal.aborted)
  t.notOk(parent.signal.aborted)
  parent.abort()
  t.ok(other.signal.aborted)
})

t.test('one that was released, or whose parent was aborted before', async t => {
  const parent = new AbortController()
  const released = new LinkedAbort(parent.signal)
  released.release()
  parent.abort()
  t.notOk(released.signal.aborted)
  t.ok(new LinkedAbort(parent.signal).signal.aborted)
})
