/** Adds the items to the end of the list. `push(...items)` takes them as arguments, of which a
 *  hundred thousand overflow the stack. */
export function appendAll<Item>(list: Item[], items: Iterable<Item>): void {
  for (const item of items) list.push(item)
}
