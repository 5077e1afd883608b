# runs sglang configurations one by one
while IFS="|" read -r name gpus; do
  bash "configs/$name.sh" sglang "$gpus" &
done <<< "$TABLE"
IFS="|" read -r a b <<< "$ROW"; bash "configs/$a.sh" &
