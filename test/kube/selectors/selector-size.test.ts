import t from 'tap'
import { isCheapSelector, openSelectorSize } from '../../../lib/kube/selectors/selector-size.ts'

const requirements = (count: number): string => Array.from({ length: count }, () => 'a').join(',')

t.test('a selector is cheap up to a length, and to a number of requirements', async t => {
  t.ok(isCheapSelector('', 'labels'))
  t.ok(isCheapSelector('a'.repeat(8192), 'labels'))
  t.notOk(isCheapSelector('a'.repeat(8193), 'labels'))
  t.ok(isCheapSelector(requirements(100), 'labels'))
  t.notOk(isCheapSelector(requirements(101), 'labels'))
  t.notOk(isCheapSelector(`,${requirements(100)}`, 'labels'), 'a comma at the beginning counts')
})

t.test('the values of a set are one requirement', async t => {
  const set = `a in (${requirements(500)})`
  t.ok(isCheapSelector(set, 'labels'))
  t.ok(isCheapSelector(`${set},${requirements(99)}`, 'labels'))
  t.notOk(isCheapSelector(`${set},${requirements(100)}`, 'labels'))
  t.notOk(
    isCheapSelector(`)${requirements(101)}`, 'labels'),
    'a bracket that none has opened hides nothing',
  )
  t.ok(isCheapSelector(`(${requirements(200)}`, 'labels'))
})

t.test('brackets in selectors of fields hide no conditions', async t => {
  t.ok(isCheapSelector(`a=(,${requirements(99)}`, 'fields'))
  t.notOk(isCheapSelector(`a=(,${requirements(100)}`, 'fields'))
})

t.test('an open watch counts for its conditions, however short they are', async t => {
  t.equal(openSelectorSize('', 'labels'), 0)
  t.equal(openSelectorSize(requirements(100), 'labels'), 8_000)
  t.equal(openSelectorSize('a'.repeat(100), 'fields'), 100)
  t.equal(openSelectorSize(`a in (${requirements(500)})`, 'labels'), 1_006)
})
