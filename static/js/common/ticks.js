// A number typed into a field ticks the box that it belongs to: [data-ticks="id of the box"].

document.addEventListener("input", ({ target }) => {
  const box = target.dataset.ticks && document.getElementById(target.dataset.ticks);
  if (box && target.value) box.checked = true;
});
