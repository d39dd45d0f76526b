/** Counts how many nodes of a tree an operation visits: the tree's own code runs on nodes that
 *  report when they are read. */

import type { Inner, Node } from '../../lib/store/btree-nodes.ts'
import { BTree } from '../../lib/store/btree.ts'
import type { KeyValue } from '../../lib/store/event.ts'

/** The average number of nodes that each call of `operation` visits, not counting a node twice in
 *  one call. All calls are made once before they are counted, so that what a node keeps when it is
 *  first asked (its offsets) is there. */
export function visitsOf(
  tree: BTree<KeyValue>,
  times: number,
  operation: (tree: BTree<KeyValue>, i: number) => unknown,
): number {
  const visited = new Set<object>()
  const spies = new Map<object, Node<KeyValue>>()
  const spyOn = (node: Node<KeyValue>, level: number): Node<KeyValue> => {
    const known = spies.get(node)
    if (known !== undefined) return known
    const [head, ...children] = level === 0 ? [] : (node as Inner<KeyValue>)
    const spied = [head, ...children.map(child => spyOn(child, level - 1))]
    const spy = new Proxy(node, {
      get(target, name) {
        visited.add(target)
        return Reflect.get(level === 0 ? target : spied, name) as unknown
      },
    })
    spies.set(node, spy)
    return spy
  }
  const spied = new BTree(spyOn(tree.root, tree.height), tree.height)
  let visits = 0
  for (let i = 0; i < times; i++) operation(spied, i)
  for (let i = 0; i < times; i++) {
    visited.clear()
    operation(spied, i)
    visits += visited.size
  }
  return visits / times
}
